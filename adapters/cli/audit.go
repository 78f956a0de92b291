package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"voucherd/domain/audit"
	"voucherd/domain/voucher"
)

// errDifference makes the exit status of an audit whose verdict, printed already, is not clean.
var errDifference = errors.New("a difference was found")

// instants are printed as the API answers them.
const instants = "2006-01-02T15:04:05.000Z07:00"

func newAudit(a Actions, path *string) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "audit CODE",
		Short: "Recompute a voucher's uses from its history, and compare",
		Long: `Recomputes every grant, confirmation and release of a voucher from its append-only history alone: how many uses were
live at each instant, of the voucher and of each customer. Compares that with the limits, and with everything that is
stored: each column of the voucher, of its redemptions and of its customers' counts. A history that contradicts itself is
told as well. Exits 1 on any difference. It changes nothing and may run during a sale.`,
		Example: `  voucherd audit SUMMER-25
  voucherd audit SUMMER-25 --json | jq .differences`,
		Args: exactly("CODE"),
		RunE: func(c *cobra.Command, args []string) error {
			code, err := voucher.ParseCode(args[0])
			if err != nil {
				return misuse(c, fmt.Sprintf("malformed CODE %q: 1 to 32 of A-Z, 0-9, _ and -, beginning with a letter or a digit", args[0]))
			}
			r, err := a.Audit(c.Context(), *path, code)
			if err != nil {
				return err
			}
			write := writeVerdict
			if asJSON {
				write = writeJSON
			}
			if err := write(c.OutOrStdout(), r); err != nil {
				return err
			}
			if !r.OK() {
				return errDifference
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return c
}

// reportJSON is the published shape of `audit --json`: fields are only ever added.
type reportJSON struct {
	Code             voucher.Code     `json:"code"`
	Consistent       bool             `json:"consistent"`
	History          int              `json:"history"`
	TotalLimit       int64            `json:"totalLimit"`
	UsedCount        int64            `json:"usedCount"`
	Granted          int              `json:"granted"`
	Confirmed        int              `json:"confirmed"`
	Released         map[string]int   `json:"released"`
	Live             int64            `json:"live"`
	MaxLive          int64            `json:"maxLive"`
	MaxLiveAt        string           `json:"maxLiveAt,omitempty"`
	Customers        int              `json:"customers"`
	MaxPerCustomer   int64            `json:"maxPerCustomer"`
	Differences      []differenceJSON `json:"differences"`
	DifferencesTotal int              `json:"differencesTotal"`
}

type differenceJSON struct {
	Kind       string             `json:"kind"`
	OrderID    voucher.OrderID    `json:"orderId,omitempty"`
	CustomerID voucher.CustomerID `json:"customerId,omitempty"`
	Detail     string             `json:"detail,omitempty"`
	Expected   string             `json:"expected,omitempty"`
	Found      string             `json:"found,omitempty"`
}

func writeJSON(out io.Writer, r audit.Report) error {
	j := reportJSON{
		Code: r.Code, Consistent: r.OK(), History: r.History, TotalLimit: r.Limit, UsedCount: r.Used,
		Granted: r.Granted, Confirmed: r.Confirmed, Released: map[string]int{}, Live: r.Live,
		MaxLive: r.MaxLive, MaxLiveAt: instant(r.MaxLiveAt), Customers: r.Customers, MaxPerCustomer: r.MaxPerCustomer,
		Differences: []differenceJSON{}, DifferencesTotal: r.DifferencesTotal,
	}
	maps.Copy(j.Released, r.Released)
	for _, d := range r.Differences {
		j.Differences = append(j.Differences, differenceJSON{
			Kind: d.Kind, OrderID: d.OrderID, CustomerID: d.CustomerID, Detail: d.Detail, Expected: d.Expected, Found: d.Found,
		})
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(j)
}

// writeVerdict prints the report for people: the verdict first, the figures, then what doesn't fit.
func writeVerdict(out io.Writer, r audit.Report) error {
	verdict := "everything fits"
	switch {
	case r.DifferencesTotal == 1:
		verdict = "1 DIFFERENCE"
	case !r.OK():
		verdict = fmt.Sprintf("%d DIFFERENCES", r.DifferencesTotal)
	}
	most := strconv.FormatInt(r.MaxLive, 10)
	if at := instant(r.MaxLiveAt); at != "" {
		most += ", first at " + at
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", r.Code, verdict)
	table(&b, [][]string{
		{"voucher", string(r.Code)},
		{"limit in force", strconv.FormatInt(r.Limit, 10)},
		{"used_count", strconv.FormatInt(r.Used, 10)},
		{"history entries", strconv.Itoa(r.History)},
		{"grants", strconv.Itoa(r.Granted)},
		{"confirmations", strconv.Itoa(r.Confirmed)},
		{"releases", releases(r.Released)},
		{"live now", strconv.FormatInt(r.Live, 10)},
		{"most live at once", most},
		{"customers", strconv.Itoa(r.Customers)},
		{"most live of one customer", strconv.FormatInt(r.MaxPerCustomer, 10)},
	})
	if len(r.Differences) > 0 {
		b.WriteString("\n")
		rows := [][]string{{"DIFFERENCE", "ORDER", "CUSTOMER", "WHAT", "EXPECTED", "FOUND"}}
		for _, d := range r.Differences {
			customer := ""
			if d.CustomerID != 0 {
				customer = strconv.FormatInt(int64(d.CustomerID), 10)
			}
			rows = append(rows, []string{d.Kind, string(d.OrderID), customer, d.Detail, d.Expected, d.Found})
		}
		table(&b, rows)
	}
	if more := r.DifferencesTotal - len(r.Differences); more > 0 {
		fmt.Fprintf(&b, "… and %d more\n", more)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// releases is the total and each reason's share, in the order of their names.
func releases(by map[string]int) string {
	total := 0
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		total += by[reason]
		parts = append(parts, fmt.Sprintf("%s %d", printable(reason), by[reason]))
	}
	if len(parts) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", total, strings.Join(parts, ", "))
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(instants)
}

// table prints rows in aligned columns, - for an empty cell.
func table(b *strings.Builder, rows [][]string) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = printable(cell); cell == "" {
				cells[i] = "-"
			}
		}
		_, _ = fmt.Fprintln(w, strings.Join(cells, "\t")) // a strings.Builder takes everything
	}
	_ = w.Flush()
}

// printable quotes what holds more than plain characters: a row that somebody tampered with must not steer a terminal.
func printable(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}
