package audit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"voucherd/domain/audit"
	"voucherd/domain/voucher"
)

func TestCleanBooks(t *testing.T) {
	require.Equal(t, audit.Report{
		Code: "SPRING", History: 10, Limit: 5, Used: 3, Granted: 5, Confirmed: 1,
		Released: map[string]int{voucher.Cancelled: 1, voucher.Expired: 1},
		Live:     3, MaxLive: 3, MaxLiveAt: t0, Customers: 3, MaxPerCustomer: 2,
	}, aLife(t).audit())
}

func TestBooksOfAnUnusedVoucher(t *testing.T) {
	r := newBooks(t, 1, 1).audit()
	require.True(t, r.OK(), r)
	require.Equal(t, audit.Report{Code: "SPRING", History: 1, Limit: 1, Released: map[string]int{}}, r)
}

// Every way to change one thing by hand, and what names it.
func TestTamperingIsFound(t *testing.T) {
	row := func(id voucher.OrderID, change func(*voucher.Record)) func(*books) {
		return func(b *books) { b.setRow(id, change) }
	}
	v := func(change func(*voucher.Snapshot)) func(*books) {
		return func(b *books) { change(&b.v) }
	}
	for _, c := range []struct {
		name   string
		tamper func(*books)
		want   []audit.Difference
	}{
		{"used_count", v(func(s *voucher.Snapshot) { s.Used-- }),
			[]audit.Difference{{Kind: audit.KindUsedCount, Detail: "used_count", Expected: "3", Found: "2"}}},
		{"discount_amount of the voucher", v(func(s *voucher.Snapshot) { s.DiscountAmount = 1 }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "discount_amount", Expected: "700", Found: "1"}}},
		{"min_order_amount", v(func(s *voucher.Snapshot) { s.MinOrderAmount = 1 }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "min_order_amount", Expected: "0", Found: "1"}}},
		{"total_limit", v(func(s *voucher.Snapshot) { s.TotalLimit = 99 }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "total_limit", Expected: "5", Found: "99"}}},
		{"per_user_limit", v(func(s *voucher.Snapshot) { s.PerUserLimit = 99 }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "per_user_limit", Expected: "2", Found: "99"}}},
		{"starts_at", v(func(s *voucher.Snapshot) { s.StartsAt = t0 }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "starts_at", Expected: "2026-03-01T11:00:00.000Z", Found: "2026-03-01T12:00:00.000Z"}}},
		{"ends_at", v(func(s *voucher.Snapshot) { s.EndsAt = in(1).Add(time.Millisecond) }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "ends_at", Expected: "2026-03-02T12:00:00.000Z", Found: "2026-03-01T12:01:00.001Z"}}},
		{"paused", v(func(s *voucher.Snapshot) { s.Paused = true }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "paused", Expected: "false", Found: "true"}}},
		{"mode", v(func(s *voucher.Snapshot) { s.Mode = voucher.FlashSync }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "mode", Expected: "standard", Found: "flash-sync"}}},
		{"change_number", v(func(s *voucher.Snapshot) { s.Change++ }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "change_number", Expected: "1", Found: "2"}}},
		{"created_at of the voucher", v(func(s *voucher.Snapshot) { s.CreatedAt = in(1) }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "created_at", Expected: "2026-03-01T12:00:00.000Z", Found: "2026-03-01T12:01:00.000Z"}}},
		{"updated_at of the voucher", v(func(s *voucher.Snapshot) { s.UpdatedAt = in(1) }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "updated_at", Expected: "2026-03-01T12:02:00.000Z", Found: "2026-03-01T12:01:00.000Z"}}},
		{"sequence, lowered", v(func(s *voucher.Snapshot) { s.Sequence-- }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "sequence", Expected: "5", Found: "4"}}},
		{"sequence, raised", v(func(s *voucher.Snapshot) { s.Sequence++ }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "sequence", Expected: "5", Found: "6"}}},
		{"epoch", v(func(s *voucher.Snapshot) { s.Epoch += 5 }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "epoch", Expected: "1772366400000", Found: "1772366400005"}}},
		{"config_mode", v(func(s *voucher.Snapshot) { s.ConfigMode = voucher.Standard }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "config_mode", Expected: "none", Found: "standard"}}},
		{"drained_epoch", v(func(s *voucher.Snapshot) { s.Drained = 7 }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "drained_epoch", Expected: "0", Found: "7"}}},
		{"partition", v(func(s *voucher.Snapshot) { s.Partition = new(int32(0)) }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "partition", Expected: "none", Found: "0"}}},
		{"less than a millisecond", v(func(s *voucher.Snapshot) { s.UpdatedAt = in(2).Add(time.Microsecond) }),
			[]audit.Difference{{Kind: audit.KindVoucher, Detail: "updated_at", Expected: "2026-03-01T12:02:00.000Z", Found: "2026-03-01T12:02:00.000001Z"}}},

		{"status of a row", row("cancelled", func(r *voucher.Record) { r.Status = voucher.Reserved }),
			[]audit.Difference{{Kind: audit.KindRow, OrderID: "cancelled", CustomerID: 2, Detail: "status", Expected: "RELEASED", Found: "RESERVED"}}},
		{"customer of a row", row("kept", func(r *voucher.Record) { r.Customer = 9 }),
			[]audit.Difference{{Kind: audit.KindRow, OrderID: "kept", CustomerID: 9, Detail: "customer_id", Expected: "1", Found: "9"}}},
		{"order_amount", row("kept", func(r *voucher.Record) { r.OrderAmount = 9 }),
			[]audit.Difference{{Kind: audit.KindRow, OrderID: "kept", CustomerID: 1, Detail: "order_amount", Expected: "5000", Found: "9"}}},
		{"discount_amount of a row", row("kept", func(r *voucher.Record) { r.DiscountAmount = 9 }),
			[]audit.Difference{{Kind: audit.KindRow, OrderID: "kept", CustomerID: 1, Detail: "discount_amount", Expected: "1000", Found: "9"}}},
		{"version", row("kept", func(r *voucher.Record) { r.Version.Sequence = 9 }),
			[]audit.Difference{{Kind: audit.KindRow, OrderID: "kept", CustomerID: 1, Detail: "version", Expected: "1772366400000-1", Found: "1772366400000-9"}}},
		{"created_at of a row", row("kept", func(r *voucher.Record) { r.CreatedAt = in(1) }),
			[]audit.Difference{{Kind: audit.KindRow, OrderID: "kept", CustomerID: 1, Detail: "created_at", Expected: "2026-03-01T12:00:00.000Z", Found: "2026-03-01T12:01:00.000Z"}}},
		{"expires_at", row("kept", func(r *voucher.Record) { r.ExpiresAt = in(1) }),
			[]audit.Difference{{Kind: audit.KindRow, OrderID: "kept", CustomerID: 1, Detail: "expires_at", Expected: "2026-03-01T12:15:00.000Z", Found: "2026-03-01T12:01:00.000Z"}}},
		{"confirmed_at", row("kept", func(r *voucher.Record) { r.ConfirmedAt = in(1) }),
			[]audit.Difference{{Kind: audit.KindRow, OrderID: "kept", CustomerID: 1, Detail: "confirmed_at", Expected: "none", Found: "2026-03-01T12:01:00.000Z"}}},
		{"released_at", row("expired", func(r *voucher.Record) { r.ReleasedAt = time.Time{} }),
			[]audit.Difference{{Kind: audit.KindRow, OrderID: "expired", CustomerID: 3, Detail: "released_at", Expected: "2026-03-01T12:16:00.000Z", Found: "none"}}},
		{"release_reason", row("expired", func(r *voucher.Record) { r.ReleaseReason = "" }),
			[]audit.Difference{{Kind: audit.KindRow, OrderID: "expired", CustomerID: 3, Detail: "release_reason", Expected: "EXPIRED", Found: "none"}}},
		{"a live row deleted", func(b *books) { delete(b.rows, "paid") },
			[]audit.Difference{{Kind: audit.KindRow, OrderID: "paid", CustomerID: 1, Detail: "row", Expected: "CONFIRMED", Found: "none"}}},
		{"an ended row deleted", func(b *books) { delete(b.rows, "cancelled") },
			[]audit.Difference{{Kind: audit.KindRow, OrderID: "cancelled", CustomerID: 2, Detail: "row", Expected: "RELEASED", Found: "none"}}},
		{"a row added", func(b *books) { b.rows["new"] = voucher.Record{Order: "new", Status: voucher.Confirmed} },
			[]audit.Difference{{Kind: audit.KindRow, OrderID: "new", Detail: "row without history", Expected: "none", Found: "CONFIRMED"}}},

		{"a customer's count", func(b *books) { b.setCount(1, func(n *voucher.CustomerCount) { n.Uses = 1 }) },
			[]audit.Difference{{Kind: audit.KindCustomer, CustomerID: 1, Detail: "uses", Expected: "2", Found: "1"}}},
		{"the limit that a customer's grant saw", func(b *books) { b.setCount(1, func(n *voucher.CustomerCount) { n.LimitSeen = 100 }) },
			[]audit.Difference{{Kind: audit.KindCustomer, CustomerID: 1, Detail: "limit_seen", Expected: "2", Found: "100"}}},
		{"a customer's count deleted", func(b *books) { delete(b.counts, 1) },
			[]audit.Difference{{Kind: audit.KindCustomer, CustomerID: 1, Detail: "row", Expected: "2", Found: "none"}}},
		{"a count of zero deleted", func(b *books) { delete(b.counts, 2) },
			[]audit.Difference{{Kind: audit.KindCustomer, CustomerID: 2, Detail: "row", Expected: "0", Found: "none"}}},
		{"a count of nobody", func(b *books) { b.counts[9] = voucher.CustomerCount{Uses: 1, LimitSeen: 2} },
			[]audit.Difference{{Kind: audit.KindCustomer, CustomerID: 9, Detail: "row without history", Expected: "none", Found: "1"}}},
		{"a count of zero of nobody", func(b *books) { b.counts[9] = voucher.CustomerCount{LimitSeen: 2} },
			[]audit.Difference{{Kind: audit.KindCustomer, CustomerID: 9, Detail: "row without history", Expected: "none", Found: "0"}}},
	} {
		b := aLife(t)
		c.tamper(b)
		r := b.audit()
		require.False(t, r.OK(), c.name)
		require.Equal(t, c.want, r.Differences, c.name)
		require.Equal(t, len(c.want), r.DifferencesTotal, c.name)
	}
}

// One difference hides no other one, of the same page neither.
func TestEveryDifferenceOfAPageIsNamed(t *testing.T) {
	b := aLife(t)
	b.rows["aaa"] = voucher.Record{Order: "aaa", Status: voucher.Reserved}
	b.setRow("again", func(r *voucher.Record) { r.OrderAmount, r.DiscountAmount = 1, 1 })
	b.setRow("cancelled", func(r *voucher.Record) { r.Status = voucher.Confirmed })
	r := b.audit()
	var details []string
	for _, d := range r.Differences {
		details = append(details, string(d.OrderID)+" "+d.Detail)
	}
	require.Equal(t, []string{"aaa row without history", "again order_amount", "again discount_amount", "cancelled status"}, details)
}

// A customer's row keeps the limit of the last grant, however the batches were cut: one that renews a use says so too.
func TestTheLimitSeenIsTheLastGrants(t *testing.T) {
	b := newBooks(t, 4, 2)
	b.reserve(t0, "a", 1)
	b.amend(in(1), voucher.Amendment{PerUserLimit: new(int64(3))})
	require.Equal(t, voucher.CustomerCount{Uses: 1, LimitSeen: 2}, b.counts[1])
	require.True(t, b.audit().OK())
	b.reserve(in(15), "a", 1)
	require.Equal(t, voucher.CustomerCount{Uses: 1, LimitSeen: 3}, b.counts[1])
	require.True(t, b.audit().OK())
}

// A change of the mode begins an epoch, and its sequence anew.
func TestTheEpochFollowsTheMode(t *testing.T) {
	b := aLife(t)
	b.amend(in(18), voucher.Amendment{Mode: new(voucher.FlashSync)})
	require.Equal(t, in(18).UnixMilli(), b.v.Epoch)
	require.True(t, b.audit().OK())
	b.amend(in(18), voucher.Amendment{Mode: new(voucher.Standard)})
	require.Equal(t, in(18).UnixMilli()+1, b.v.Epoch, "in the same millisecond")
	b.reserve(in(19), "later", 4)
	require.True(t, b.audit().OK(), b.audit().Differences)
	require.Equal(t, int64(1), b.v.Sequence)
}

func TestReportsAreBounded(t *testing.T) {
	b := newBooks(t, 1000, 1)
	const n = 150
	for i := range n {
		b.reserve(t0, voucher.OrderID(fmt.Sprintf("o%03d", i)), voucher.CustomerID(i+1))
	}
	clear(b.rows)
	r := b.audit()
	require.Len(t, r.Differences, audit.MaxDifferences)
	require.Equal(t, n, r.DifferencesTotal)
	require.Equal(t, voucher.OrderID("o000"), r.Differences[0].OrderID)
	require.Equal(t, r, b.audit(), "the same books give the same report")
}

// Whatever the domain does, its books fit.
func TestRandomHistoriesAreClean(t *testing.T) {
	order := rapid.SampledFrom([]voucher.OrderID{"a", "b", "c", "d", "e"})
	customer := rapid.Int64Range(1, 3)
	limit := rapid.Int64Range(1, 4)
	rapid.Check(t, func(t *rapid.T) {
		b := newBooks(t, limit.Draw(t, "totalLimit"), limit.Draw(t, "perUserLimit"))
		now := t0
		most := b.v.Used
		t.Repeat(map[string]func(*rapid.T){
			"pass": func(t *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(1, 9).Draw(t, "minutes")) * time.Minute) },
			"reserve": func(t *rapid.T) {
				b.reserve(now, order.Draw(t, "order"), voucher.CustomerID(customer.Draw(t, "customer")))
			},
			"confirm": func(t *rapid.T) { b.confirm(now, order.Draw(t, "order")) },
			"release": func(t *rapid.T) { b.release(now, order.Draw(t, "order")) },
			"amend": func(t *rapid.T) {
				b.amend(now, voucher.Amendment{
					TotalLimit: rapid.Ptr(limit, true).Draw(t, "totalLimit"), PerUserLimit: rapid.Ptr(limit, true).Draw(t, "perUserLimit"),
					DiscountAmount: rapid.Ptr(limit, true).Draw(t, "discountAmount"), Mode: rapid.Ptr(rapid.SampledFrom(voucher.Modes()), true).Draw(t, "mode"),
				})
			},
			"": func(t *rapid.T) {
				most = max(most, b.v.Used)
				r := b.audit()
				require.True(t, r.OK(), "%v", r.Differences)
				require.Equal(t, b.v.Used, r.Live)
				require.Equal(t, most, r.MaxLive)
			},
		})
	})
}
