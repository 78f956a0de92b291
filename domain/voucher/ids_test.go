package voucher_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

// requireField holds err to be an Invalid fault about the field.
func requireField(t *testing.T, field string, err error, msg ...any) {
	t.Helper()
	var f *fault.Error
	require.ErrorAs(t, err, &f, msg...)
	require.Equal(t, fault.Invalid, f.Kind, msg...)
	require.Equal(t, "INVALID_REQUEST", f.Code, msg...)
	require.Equal(t, field, f.Field, msg...)
}

func TestParseCode(t *testing.T) {
	for s, want := range map[string]voucher.Code{
		"A": "A", "0": "0", "spring": "SPRING", " \tSpring-2026_x\n": "SPRING-2026_X",
		strings.Repeat("a", 32): voucher.Code(strings.Repeat("A", 32)), "A-": "A-", "Z_": "Z_", "az-AZ-09": "AZ-AZ-09",
	} {
		got, err := voucher.ParseCode(s)
		require.NoError(t, err, "%q", s)
		require.Equal(t, want, got)
	}
	for _, s := range []string{
		"", "  ", "-A", "_A", "A B", "A{B}C", "A.B", "Ä", "A\x00", "A\nB", "A\x7f", "A~", "A{", strings.Repeat("A", 33),
		"\u017fPRING" /* long s: folds to S */, "SPR\u0131NG" /* dotless i: folds to I */, "\u212aING", /* Kelvin sign: folds to K */
	} {
		_, err := voucher.ParseCode(s)
		requireField(t, "code", err, "%q", s)
	}
}

func TestParseOrderID(t *testing.T) {
	for _, s := range []string{"A", "z", "0", "Order-1._:-", "a:b", strings.Repeat("x", 64)} {
		got, err := voucher.ParseOrderID(s)
		require.NoError(t, err, "%q", s)
		require.Equal(t, voucher.OrderID(s), got)
	}
	for _, s := range []string{"", " a", "a ", "-a", ".a", "_a", ":a", "a/b", "a b", "ä", "a\n", strings.Repeat("x", 65)} {
		_, err := voucher.ParseOrderID(s)
		requireField(t, "orderId", err, "%q", s)
	}
}

func TestParseCustomerID(t *testing.T) {
	for _, n := range []int64{1, 2, math.MaxInt64} {
		got, err := voucher.ParseCustomerID(n)
		require.NoError(t, err)
		require.Equal(t, voucher.CustomerID(n), got)
	}
	for _, n := range []int64{0, -1, math.MinInt64} {
		_, err := voucher.ParseCustomerID(n)
		requireField(t, "customerId", err, n)
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range voucher.Modes() {
		got, err := voucher.ParseMode(string(m))
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
	for _, s := range []string{"", "Standard", "flash", "standard "} {
		_, err := voucher.ParseMode(s)
		requireField(t, "mode", err, "%q", s)
	}
}

func TestNewRequestChecksInThePublishedOrder(t *testing.T) {
	q, err := voucher.NewRequest(7, "a", 5000, ttl, "shop")
	require.NoError(t, err)
	require.Equal(t, voucher.Request{Order: "a", Customer: 7, Amount: 5000, TTL: ttl, Actor: "shop"}, q)

	for _, amount := range []int64{1, voucher.MaxAmount} {
		_, err := voucher.NewRequest(7, "a", amount, ttl, "")
		require.NoError(t, err, amount)
	}
	for _, amount := range []int64{0, -1, voucher.MaxAmount + 1} {
		_, err := voucher.NewRequest(7, "a", amount, ttl, "")
		requireField(t, "orderAmount", err, amount)
	}
	_, err = voucher.NewRequest(0, "", 0, ttl, "")
	requireField(t, "customerId", err)
	_, err = voucher.NewRequest(1, "", 0, ttl, "")
	requireField(t, "orderId", err)
}

func TestVersionsAreOrderedByEpochThenSequence(t *testing.T) {
	v := func(e, s int64) voucher.Version { return voucher.Version{Epoch: e, Sequence: s} }
	for _, c := range []struct {
		a, b voucher.Version
		want int
	}{
		{v(1, 1), v(1, 1), 0}, {v(1, 1), v(1, 2), -1}, {v(1, 2), v(1, 1), 1},
		{v(1, 9), v(2, 1), -1}, {v(2, 1), v(1, 9), 1},
	} {
		require.Equal(t, c.want, c.a.Compare(c.b), "%s %s", c.a, c.b)
	}
	require.Equal(t, "1700000000000-42", v(1_700_000_000_000, 42).String())
}
