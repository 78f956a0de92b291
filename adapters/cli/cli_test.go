package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/cli"
	"voucherd/domain/audit"
	"voucherd/domain/voucher"
)

// called records which action ran, and with what.
type called struct{ got []string }

func (c *called) note(parts ...string) { c.got = append(c.got, strings.Join(parts, " ")) }

// actions answer everything well, or with err.
func actions(c *called, err error) cli.Actions {
	at := time.Date(2026, 11, 1, 9, 30, 0, 0, time.FixedZone("", 7*3600))
	return cli.Actions{
		Version: "1.2.3",
		Serve:   func(_ context.Context, path string) error { c.note("serve", path); return err },
		MigrateUp: func(_ context.Context, path string) ([]cli.Migration, error) {
			c.note("up", path)
			return []cli.Migration{{Version: 1, Name: "init", AppliedAt: at}}, err
		},
		MigrateDown: func(_ context.Context, path string, all bool) ([]cli.Migration, error) {
			if c.note("down", path); all {
				c.note("all")
			}
			return nil, err
		},
		MigrateStatus: func(_ context.Context, path string) ([]cli.Migration, error) {
			c.note("status", path)
			return []cli.Migration{{Version: 1, Name: "init", AppliedAt: at}, {Version: 20, Name: "more"}}, err
		},
		Audit: func(_ context.Context, path string, code voucher.Code) (audit.Report, error) {
			c.note("audit", path, string(code))
			return audit.Report{Code: code}, err
		},
		ConfigCheck: func(_ context.Context, path string) (string, error) {
			c.note("check", path)
			return "roles: [api]\n", err
		},
	}
}

func run(a cli.Actions, args ...string) (exit int, stdout, stderr string) {
	var out, errs bytes.Buffer
	exit = cli.Run(context.Background(), a, args, &out, &errs)
	return exit, out.String(), errs.String()
}

func TestCommandsCallTheirAction(t *testing.T) {
	for args, want := range map[string]struct{ call, out string }{
		"serve":                        {"serve ", ""},
		"serve --config c.yaml":        {"serve c.yaml", ""},
		"--config=c.yaml serve":        {"serve c.yaml", ""},
		"migrate up --config c":        {"up c", "applied 1 init\n"},
		"migrate down --yes":           {"down ", "nothing to do\n"},
		"migrate down --all --yes":     {"down |all", "nothing to do\n"},
		"migrate status":               {"status ", "VERSION  NAME  APPLIED\n1        init  2026-11-01T02:30:00Z\n20       more  pending\n"},
		"audit summer-25":              {"audit  SUMMER-25", "SUMMER-25: everything fits\n"},
		"audit X --config c --json":    {"audit c X", `"code": "X"`},
		"config check --config c.yaml": {"check c.yaml", "roles: [api]\n"},
		"version":                      {"", "voucherd 1.2.3\n"},
	} {
		c := &called{}
		exit, out, errs := run(actions(c, nil), strings.Fields(args)...)
		require.Equal(t, cli.ExitDone, exit, args)
		require.Empty(t, errs, args)
		require.Contains(t, out, want.out, args)
		require.Equal(t, want.call, strings.Join(c.got, "|"), args)
	}
}

func TestAFailureIsOneLineAndStatus1(t *testing.T) {
	for _, args := range []string{"serve", "migrate up", "migrate down --yes", "migrate status", "audit X", "config check"} {
		exit, out, errs := run(actions(&called{}, errors.New("no way")), strings.Fields(args)...)
		require.Equal(t, cli.ExitFailed, exit, args)
		require.Equal(t, "voucherd: no way\n", errs, args)
		if args == "migrate up" {
			require.Equal(t, "applied 1 init\n", out, "what was done before it failed")
		} else {
			require.Empty(t, out, args)
		}
	}
}

func TestCalledWronglyIsStatus2AndDoesNothing(t *testing.T) {
	for args, says := range map[string]string{
		"nope":                  `unknown command "nope" (see voucherd --help)`,
		"sevre":                 `did you mean "serve"?`,
		"serve x":               `unexpected argument "x" (see voucherd serve --help)`,
		"serve --x":             "unknown flag: --x (see voucherd serve --help)",
		"--x":                   "unknown flag: --x",
		"serve -c":              "unknown shorthand flag",
		"serve --config":        "flag needs an argument: --config",
		"serve --config=":       "--config is blank",
		"migrate":               "missing command (see voucherd migrate --help)",
		"migrate sideways":      `unknown command "sideways" (see voucherd migrate --help)`,
		"migrate down":          "say --yes",
		"migrate down --all":    "say --yes",
		"migrate down 3 --yes":  `unexpected argument "3"`,
		"migrate up --all":      "unknown flag: --all",
		"audit":                 "missing CODE (see voucherd audit --help)",
		"audit A B":             `unexpected argument "B"`,
		"audit a.b":             `malformed CODE "a.b"`,
		"audit A --json=maybe":  "invalid argument",
		"config":                "missing command",
		"config chek":           `did you mean "check"?`,
		"config check x":        "unexpected argument",
		"version x":             "unexpected argument",
		"help nope":             `unknown command "nope"`,
		"help migrate sideways": `unknown command "migrate sideways"`,
		"":                      "missing command (see voucherd --help)",
		"completion bash":       `unknown command "completion"`,
	} {
		c := &called{}
		exit, out, errs := run(actions(c, nil), strings.Fields(args)...)
		require.Equal(t, cli.ExitUsage, exit, args)
		require.Empty(t, out, args)
		require.Empty(t, c.got, args)
		lines := strings.Split(strings.TrimRight(errs, "\n"), "\n")
		last := lines[len(lines)-1]
		require.True(t, strings.HasPrefix(last, "voucherd: "), args)
		require.Contains(t, last, says, args)
		if !strings.HasPrefix(says, "missing command") {
			require.Len(t, lines, 1, "no help spilled for %q", args)
		}
	}
}

func TestEachCommandHasHelpWithAnExample(t *testing.T) {
	for _, command := range []string{"", "serve", "migrate", "migrate up", "migrate down", "migrate status", "audit", "config", "config check", "version", "help"} {
		for _, args := range [][]string{append(strings.Fields(command), "--help"), append([]string{"help"}, strings.Fields(command)...)} {
			c := &called{}
			exit, out, errs := run(actions(c, nil), args...)
			require.Equal(t, cli.ExitDone, exit, args)
			require.Empty(t, errs, args)
			require.Empty(t, c.got, args)
			require.Contains(t, out, "Examples:\n  ", args)
			require.Contains(t, out, "voucherd "+strings.Join(strings.Fields(command), " "), args)
			require.Contains(t, out, "--config FILE", args)
		}
	}
}

func fullReport() audit.Report {
	return audit.Report{
		Code: "SUMMER-25", History: 9, Limit: 10, Used: 4, Granted: 5, Confirmed: 1, Released: map[string]int{"EXPIRED": 1, "CANCELLED": 1},
		Live: 3, MaxLive: 4, MaxLiveAt: time.Date(2026, 11, 1, 9, 30, 0, 120e6, time.UTC), Customers: 4, MaxPerCustomer: 2,
		Differences: []audit.Difference{
			{Kind: audit.KindUsedCount, Detail: "used_count", Expected: "3", Found: "4"},
			{Kind: audit.KindRow, OrderID: "o<1>", CustomerID: 7, Detail: "release_reason", Expected: "none", Found: "\x1b[2J"},
		},
		DifferencesTotal: 5,
	}
}

func auditing(r audit.Report) cli.Actions {
	return cli.Actions{Audit: func(context.Context, string, voucher.Code) (audit.Report, error) { return r, nil }}
}

func TestAnAuditWithDifferencesIsStatus1(t *testing.T) {
	exit, out, errs := run(auditing(fullReport()), "audit", "SUMMER-25")
	require.Equal(t, cli.ExitFailed, exit)
	require.Empty(t, errs)
	require.Equal(t, `SUMMER-25: 5 DIFFERENCES

voucher                    SUMMER-25
limit in force             10
used_count                 4
history entries            9
grants                     5
confirmations              1
releases                   2 (CANCELLED 1, EXPIRED 1)
live now                   3
most live at once          4, first at 2026-11-01T09:30:00.120Z
customers                  4
most live of one customer  2

DIFFERENCE  ORDER  CUSTOMER  WHAT            EXPECTED  FOUND
used_count  -      -         used_count      3         4
redemption  o<1>   7         release_reason  none      "\x1b[2J"
… and 3 more
`, out)
}

func TestAnAuditAsJSON(t *testing.T) {
	exit, out, errs := run(auditing(fullReport()), "audit", "SUMMER-25", "--json")
	require.Equal(t, cli.ExitFailed, exit)
	require.Empty(t, errs)
	require.JSONEq(t, `{"code": "SUMMER-25", "consistent": false, "history": 9, "totalLimit": 10, "usedCount": 4, "granted": 5, "confirmed": 1,
		"released": {"CANCELLED": 1, "EXPIRED": 1}, "live": 3, "maxLive": 4, "maxLiveAt": "2026-11-01T09:30:00.120Z", "customers": 4, "maxPerCustomer": 2,
		"differences": [{"kind": "used_count", "detail": "used_count", "expected": "3", "found": "4"},
			{"kind": "redemption", "orderId": "o<1>", "customerId": 7, "detail": "release_reason", "expected": "none", "found": "\u001b[2J"}],
		"differencesTotal": 5}`, out)

	exit, out, _ = run(auditing(audit.Report{Code: "X", Limit: 1}), "audit", "X", "--json")
	require.Equal(t, cli.ExitDone, exit)
	require.JSONEq(t, `{"code": "X", "consistent": true, "history": 0, "totalLimit": 1, "usedCount": 0, "granted": 0, "confirmed": 0, "released": {},
		"live": 0, "maxLive": 0, "customers": 0, "maxPerCustomer": 0, "differences": [], "differencesTotal": 0}`, out)
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A verdict that nobody could read is no clean audit.
func TestOutputThatIsLostIsAFailure(t *testing.T) {
	for _, args := range []string{"audit X", "audit X --json", "config check", "version", "migrate up", "migrate status", "migrate down --yes"} {
		exit := cli.Run(context.Background(), actions(&called{}, nil), strings.Fields(args), full{}, io.Discard)
		require.Equal(t, cli.ExitFailed, exit, args)
	}
}

func TestTheContextReachesTheAction(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a := cli.Actions{Serve: func(ctx context.Context, _ string) error { return ctx.Err() }}
	require.Equal(t, cli.ExitFailed, cli.Run(ctx, a, []string{"serve"}, io.Discard, io.Discard))
}
