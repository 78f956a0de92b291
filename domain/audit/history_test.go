package audit_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/domain/audit"
	"voucherd/domain/voucher"
)

// kinds returns the kinds of the differences, each once.
func kinds(r audit.Report) []string {
	var ks []string
	for _, d := range r.Differences {
		ks = append(ks, d.Kind)
	}
	slices.Sort(ks)
	return slices.Compact(ks)
}

// find returns the position of the order's first entry of the kind; the voucher's own have no order.
func (b *books) find(kind voucher.ChangeKind, order voucher.OrderID) int {
	at := slices.IndexFunc(b.history, func(c voucher.Change) bool { return c.Kind == kind && c.Order == order })
	require.GreaterOrEqual(b.t, at, 0)
	return at
}

func (b *books) drop(kind voucher.ChangeKind, order voucher.OrderID) {
	at := b.find(kind, order)
	b.history = slices.Delete(b.history, at, at+1)
}

// A history that was cut, forged or put in another order contradicts itself, or the rows.
func TestATamperedHistoryIsFound(t *testing.T) {
	for _, c := range []struct {
		name   string
		tamper func(*books)
		want   []string
	}{
		{"emptied", func(b *books) { b.history = nil },
			[]string{audit.KindCustomer, audit.KindRow, audit.KindUsedCount, audit.KindVoucher}},
		{"without its beginning", func(b *books) { b.history = b.history[1:] },
			[]string{audit.KindCustomer, audit.KindCustomerLimit, audit.KindHistory, audit.KindLimit, audit.KindVoucher}},
		{"without its end", func(b *books) { b.history = b.history[:len(b.history)-1] },
			[]string{audit.KindCustomer, audit.KindRow, audit.KindUsedCount, audit.KindVoucher}},
		{"with two beginnings", func(b *books) { b.record(b.history[0]) }, []string{audit.KindHistory, audit.KindVoucher}},
		{"an entry twice", func(b *books) { b.history = slices.Insert(b.history, 4, b.history[4]) }, []string{audit.KindHistory}},
		{"an id twice", func(b *books) { b.history[2].ID = b.history[1].ID }, []string{audit.KindHistory}},
		{"two entries swapped", func(b *books) { b.history[1], b.history[2] = b.history[2], b.history[1] }, []string{audit.KindHistory}},
		{"a grant removed", func(b *books) { b.drop(voucher.ReservationMade, "kept") },
			[]string{audit.KindCustomer, audit.KindHistory, audit.KindRow, audit.KindUsedCount}},
		{"a use and its end removed", func(b *books) {
			b.drop(voucher.ReservationMade, "cancelled")
			b.drop(voucher.ReservationReleased, "cancelled")
			delete(b.rows, "cancelled")
			delete(b.counts, 2)
		}, []string{audit.KindHistory}}, // a version is missing
		{"a grant that was confirmed removed", func(b *books) { b.drop(voucher.ReservationMade, "paid") },
			[]string{audit.KindCustomer, audit.KindHistory, audit.KindRow, audit.KindUsedCount}},
		{"a confirmation removed", func(b *books) { b.drop(voucher.ReservationConfirmed, "paid") }, []string{audit.KindRow}},
		{"a release removed", func(b *books) { b.drop(voucher.ReservationReleased, "cancelled") },
			[]string{audit.KindCustomer, audit.KindRow, audit.KindUsedCount}},
		{"an amendment removed", func(b *books) { b.drop(voucher.VoucherAmended, "") },
			[]string{audit.KindHistory, audit.KindVoucher}}, // the grant after it had the new discount
		{"an unknown kind", func(b *books) { b.record(voucher.Change{Kind: "X"}) }, []string{audit.KindHistory}},
		{"an amendment from nowhere", func(b *books) { b.history[b.find(voucher.VoucherAmended, "")].TermsBefore = nil }, []string{audit.KindHistory}},
		{"an amendment of other terms", func(b *books) { b.history[b.find(voucher.VoucherAmended, "")].TermsBefore.Paused = true }, []string{audit.KindHistory}},
		{"an amendment to nothing", func(b *books) { b.history[b.find(voucher.VoucherAmended, "")].TermsAfter = nil },
			[]string{audit.KindHistory, audit.KindVoucher}},
		{"a last amendment to nothing", func(b *books) {
			b.amend(in(20), voucher.Amendment{Paused: new(true)})
			b.history[len(b.history)-1].TermsAfter = nil
		}, []string{audit.KindHistory, audit.KindVoucher}},
		{"a second release", func(b *books) { b.record(b.history[b.find(voucher.ReservationReleased, "cancelled")]) }, []string{audit.KindHistory}},
		{"a release of what was confirmed", func(b *books) {
			c := b.history[b.find(voucher.ReservationConfirmed, "paid")]
			c.Kind, c.After = voucher.ReservationReleased, &voucher.Facts{Status: voucher.Released, ReleaseReason: voucher.Cancelled}
			b.record(c)
		}, []string{audit.KindHistory}},
		{"a beginning with a past", func(b *books) { b.history[0].TermsBefore = b.history[0].TermsAfter }, []string{audit.KindHistory}},
		{"a confirmation of another version", func(b *books) { b.history[b.find(voucher.ReservationConfirmed, "paid")].Version.Sequence++ },
			[]string{audit.KindHistory, audit.KindRow}},
		{"a release of another customer", func(b *books) { b.history[b.find(voucher.ReservationReleased, "cancelled")].Customer = 1 },
			[]string{audit.KindCustomer, audit.KindHistory, audit.KindRow, audit.KindUsedCount}},
		{"a release without its facts", func(b *books) { b.history[b.find(voucher.ReservationReleased, "cancelled")].After = nil },
			[]string{audit.KindHistory, audit.KindRow}},
		{"a grant without its facts", func(b *books) { b.history[b.find(voucher.ReservationMade, "kept")].After = nil },
			[]string{audit.KindHistory, audit.KindRow}},
		{"a discount above the terms", func(b *books) { b.history[b.find(voucher.ReservationMade, "kept")].After.DiscountAmount++ },
			[]string{audit.KindHistory, audit.KindRow}},
	} {
		b := aLife(t)
		c.tamper(b)
		require.ElementsMatch(t, c.want, kinds(b.audit()), c.name)
	}
}

// One value of one entry, changed where no row tells of it: a second life of the order took the row over.
func TestATamperedEntryContradictsItself(t *testing.T) {
	entry := func(kind voucher.ChangeKind, order voucher.OrderID, change func(*voucher.Change)) func(*books) {
		return func(b *books) { change(&b.history[b.find(kind, order)]) }
	}
	for name, tamper := range map[string]func(*books){
		"epoch of the beginning":   entry(voucher.VoucherCreated, "", func(c *voucher.Change) { c.Version.Epoch++ }),
		"instant of the beginning": entry(voucher.VoucherCreated, "", func(c *voucher.Change) { c.At = in(1) }),
		"epoch of an amendment":    entry(voucher.VoucherAmended, "", func(c *voucher.Change) { c.Version.Epoch++ }),
		"mode of an amendment":     entry(voucher.VoucherAmended, "", func(c *voucher.Change) { c.TermsAfter.Mode = voucher.FlashSync }),
		"epoch of a grant":         entry(voucher.ReservationMade, "twice", func(c *voucher.Change) { c.Version.Epoch++ }),
		"sequence of a grant":      entry(voucher.ReservationMade, "twice", func(c *voucher.Change) { c.Version.Sequence = 0 }),
		"instant of a grant":       entry(voucher.ReservationMade, "twice", func(c *voucher.Change) { c.At = t0.Add(-2 * time.Hour) }),
		"amount of a grant":        entry(voucher.ReservationMade, "twice", func(c *voucher.Change) { c.After.OrderAmount = 1 }),
		"status of a grant":        entry(voucher.ReservationMade, "twice", func(c *voucher.Change) { c.After.Status = voucher.Confirmed }),
		"what was before a grant":  entry(voucher.ReservationMade, "twice", func(c *voucher.Change) { c.Before = &voucher.Facts{} }),
		"customer of a grant":      entry(voucher.ReservationMade, "twice", func(c *voucher.Change) { c.Customer = 9 }),
		"deadline of a grant":      entry(voucher.ReservationMade, "twice", func(c *voucher.Change) { c.After.ExpiresAt = in(1) }),
		"a deadline just missed":   entry(voucher.ReservationMade, "twice", func(c *voucher.Change) { c.After.ExpiresAt = in(17) }),
		"version of a release":     entry(voucher.ReservationReleased, "twice", func(c *voucher.Change) { c.Version.Sequence++ }),
		"instant of a release":     entry(voucher.ReservationReleased, "twice", func(c *voucher.Change) { c.At = in(18) }),
		"released_at of a release": entry(voucher.ReservationReleased, "twice", func(c *voucher.Change) { c.After.ReleasedAt = in(18) }),
		"reason of a release":      entry(voucher.ReservationReleased, "twice", func(c *voucher.Change) { c.After.ReleaseReason = voucher.Expired }),
		"status of a release":      entry(voucher.ReservationReleased, "twice", func(c *voucher.Change) { c.After.Status = voucher.Reserved }),
		"amount of a release":      entry(voucher.ReservationReleased, "twice", func(c *voucher.Change) { c.After.OrderAmount = 1 }),
		"nothing before a release": entry(voucher.ReservationReleased, "twice", func(c *voucher.Change) { c.Before = nil }),
		"before a release":         entry(voucher.ReservationReleased, "twice", func(c *voucher.Change) { c.Before.Status = voucher.Confirmed }),
		"an early expiry":          entry(voucher.ReservationReleased, "expired", func(c *voucher.Change) { c.At = in(15) }),
		"a late confirmation":      entry(voucher.ReservationConfirmed, "paid", func(c *voucher.Change) { c.At = in(15) }),
		"a pause before a grant": func(b *books) {
			b.amend(in(19), voucher.Amendment{Paused: new(true)})
			b.made("paused", 8, b.v.Sequence+1)
		},
	} {
		b := aLife(t)
		b.reserve(in(17), "twice", 4)
		b.release(in(17), "twice")
		b.amend(in(18), voucher.Amendment{TotalLimit: new(int64(6))})
		b.reserve(in(18), "twice", 4)
		require.True(t, b.audit().OK(), name)
		tamper(b)
		require.Contains(t, kinds(b.audit()), audit.KindHistory, name)
	}
}

// Changed and changed back, with both entries removed: the numbers of the changes tell.
func TestAPairOfAmendmentsRemovedIsFound(t *testing.T) {
	b := newBooks(t, 4, 2)
	b.amend(in(1), voucher.Amendment{Paused: new(true)})
	b.amend(in(2), voucher.Amendment{Paused: new(false)})
	b.amend(in(3), voucher.Amendment{TotalLimit: new(int64(5))})
	require.True(t, b.audit().OK())
	b.history = slices.Delete(b.history, 1, 3)
	r := b.audit()
	require.Equal(t, []string{audit.KindHistory}, kinds(r))
	require.Equal(t, "entry 11 does not follow from the terms before it", r.Differences[0].Detail)
}

// made is an entry as a faulty program might write it: over limits, over live orders, with versions of its own.
func (b *books) made(order voucher.OrderID, customer voucher.CustomerID, sequence int64) {
	version := voucher.Version{Epoch: b.v.Epoch, Sequence: sequence}
	b.record(voucher.Change{
		Code: "SPRING", Kind: voucher.ReservationMade, At: t0, Order: order, Customer: customer, Version: version,
		After: &voucher.Facts{Status: voucher.Reserved, OrderAmount: 5000, DiscountAmount: 1000, ExpiresAt: in(15)},
	})
	b.rows[order] = voucher.Record{
		Code: "SPRING", Order: order, Customer: customer, OrderAmount: 5000, DiscountAmount: 1000, Status: voucher.Reserved,
		Version: version, CreatedAt: t0, ExpiresAt: in(15),
	}
	b.setCount(customer, func(n *voucher.CustomerCount) { n.Uses, n.LimitSeen = n.Uses+1, b.v.PerUserLimit })
	b.v.Used++
	b.v.Sequence = max(b.v.Sequence, sequence)
}

// Books that agree with each other about an oversell: the history alone shows it.
func TestAnOversellIsFoundInTheHistory(t *testing.T) {
	b := newBooks(t, 2, 1)
	for i := range int64(3) {
		b.made(voucher.OrderID(rune('a'+i)), voucher.CustomerID(i+1), i+1)
	}
	r := b.audit()
	require.Equal(t, []audit.Difference{{
		Kind: audit.KindLimit, OrderID: "c", Expected: "at most 2", Found: "3", Detail: "live uses after entry 11",
	}}, r.Differences)
	require.Equal(t, int64(3), r.MaxLive)

	// Healed by now, it happened all the same.
	b.release(in(1), "a")
	r = b.audit()
	require.Equal(t, []string{audit.KindLimit}, kinds(r))
	require.Equal(t, int64(2), r.Live)
}

func TestAnOversellToOneCustomerIsFoundInTheHistory(t *testing.T) {
	b := newBooks(t, 10, 1)
	b.made("a", 7, 1)
	b.made("b", 7, 2)
	r := b.audit()
	require.Equal(t, []audit.Difference{{
		Kind: audit.KindCustomerLimit, OrderID: "b", CustomerID: 7, Expected: "at most 1", Found: "2", Detail: "live uses after entry 9",
	}}, r.Differences)
	require.Equal(t, int64(2), r.MaxPerCustomer)
}

// A per-customer limit that was lowered takes nothing from anybody; a total limit must never be below what is live.
func TestLoweredLimits(t *testing.T) {
	b := newBooks(t, 4, 2)
	b.reserve(t0, "a", 1)
	b.reserve(t0, "b", 1)
	b.amend(in(1), voucher.Amendment{PerUserLimit: new(int64(1))})
	require.True(t, b.audit().OK())

	before, after := b.v.Terms, b.v.Terms
	after.TotalLimit = 1
	b.v.Terms, b.v.Change, b.v.UpdatedAt = after, 2, in(2)
	b.record(voucher.Change{
		Code: "SPRING", Kind: voucher.VoucherAmended, At: in(2), Version: voucher.Version{Epoch: b.v.Epoch, Sequence: 2},
		TermsBefore: &before, TermsAfter: &after,
	})
	require.Equal(t, []audit.Difference{
		{Kind: audit.KindLimit, Expected: "at most 1", Found: "2", Detail: "live uses after entry 13"},
	}, b.audit().Differences)
}

func TestAGrantOverALiveOrderIsFound(t *testing.T) {
	b := newBooks(t, 10, 10)
	b.made("a", 7, 1)
	b.made("a", 7, 2)
	require.Contains(t, kinds(b.audit()), audit.KindHistory)
}

func TestAVersionGivenOutTwiceIsFound(t *testing.T) {
	for _, sequence := range []int64{1, 2, 4} { // 4: and 3 is missing
		b := newBooks(t, 10, 10)
		b.made("a", 7, 1)
		b.made("b", 7, 2)
		require.True(t, b.audit().OK())
		b.made("c", 7, sequence)
		require.Equal(t, []audit.Difference{{
			Kind: audit.KindHistory, OrderID: "c", Detail: "version of entry 11",
			Expected: "1772366400000-3", Found: fmt.Sprintf("1772366400000-%d", sequence),
		}}, b.audit().Differences)
	}
}

func TestMaxLiveAtIsTheFirstTime(t *testing.T) {
	b := newBooks(t, 4, 4)
	b.reserve(in(1), "a", 1)
	b.reserve(in(2), "b", 1)
	b.release(in(3), "b")
	b.reserve(in(4), "c", 2)
	r := b.audit()
	require.Equal(t, int64(2), r.MaxLive)
	require.Equal(t, in(2), r.MaxLiveAt)
	require.Equal(t, int64(2), r.MaxPerCustomer)
	require.Equal(t, 2, r.Customers)
	require.Equal(t, time.UTC, r.MaxLiveAt.Location())
}
