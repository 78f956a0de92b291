package audit

import (
	"fmt"
	"time"

	"voucherd/domain/voucher"
)

// Reservations takes in a page of the stored rows and compares them with the history.
func (a *Auditor) Reservations(page []voucher.Reservation) {
	for _, r := range page {
		found := r.Record()
		o, ok := a.orders[found.Order]
		if !ok {
			a.differ(Difference{Kind: KindRow, OrderID: found.Order, Detail: "row without history", Expected: "none", Found: string(found.Status)})
			continue
		}
		o.seen = true
		want := o.record
		for _, f := range []field{
			{"status", want.Status, found.Status},
			{"customer_id", want.Customer, found.Customer},
			{"order_amount", want.OrderAmount, found.OrderAmount},
			{"discount_amount", want.DiscountAmount, found.DiscountAmount},
			{"version", want.Version, found.Version},
			{"created_at", want.CreatedAt, found.CreatedAt},
			{"expires_at", want.ExpiresAt, found.ExpiresAt},
			{"confirmed_at", want.ConfirmedAt, found.ConfirmedAt},
			{"released_at", want.ReleasedAt, found.ReleasedAt},
			{"release_reason", want.ReleaseReason, found.ReleaseReason},
		} {
			a.compare(f, Difference{Kind: KindRow, OrderID: found.Order, CustomerID: found.Customer})
		}
	}
}

// Customers takes in a page of the stored counts and compares them with the history.
func (a *Auditor) Customers(page map[voucher.CustomerID]int64) {
	for _, id := range sortedKeys(page) {
		var live int64
		if c, ok := a.customers[id]; ok {
			c.seen, live = true, c.live
		}
		a.compare(field{"uses", live, page[id]}, Difference{Kind: KindCustomer, CustomerID: id})
	}
}

// Report compares the voucher's row, names what was never shown, and returns the verdict. It is the last call.
func (a *Auditor) Report() Report {
	for _, id := range sortedKeys(a.orders) {
		if o := a.orders[id]; !o.seen {
			a.differ(Difference{Kind: KindRow, OrderID: id, CustomerID: o.record.Customer, Detail: "row", Expected: string(o.record.Status), Found: "none"})
		}
	}
	for _, id := range sortedKeys(a.customers) {
		if c := a.customers[id]; !c.seen && c.live != 0 {
			a.differ(Difference{Kind: KindCustomer, CustomerID: id, Detail: "uses", Expected: fmt.Sprint(c.live), Found: "none"})
		}
	}
	a.compare(field{"used_count", a.report.Live, a.stored.Used()}, Difference{Kind: KindUsedCount})
	want, got := a.terms, a.stored.Terms()
	row := a.stored.Snapshot()
	for _, f := range []field{
		{"discount_amount", want.DiscountAmount, got.DiscountAmount},
		{"min_order_amount", want.MinOrderAmount, got.MinOrderAmount},
		{"total_limit", want.TotalLimit, got.TotalLimit},
		{"per_user_limit", want.PerUserLimit, got.PerUserLimit},
		{"starts_at", want.StartsAt, got.StartsAt},
		{"ends_at", want.EndsAt, got.EndsAt},
		{"paused", want.Paused, got.Paused},
		{"mode", want.Mode, got.Mode},
		{"change_number", a.change, row.Change},
		{"created_at", a.created, row.CreatedAt},
		{"updated_at", a.updated, row.UpdatedAt},
	} {
		a.compare(f, Difference{Kind: KindVoucher})
	}
	// The next reservation must get a version that none had before.
	if at := (voucher.Version{Epoch: row.Epoch, Sequence: row.Sequence}); at.Compare(a.last) < 0 {
		a.compare(field{"sequence", a.last, at}, Difference{Kind: KindVoucher})
	}
	return a.report
}

// field is one value by the history and as stored; the two are comparable and of one type.
type field struct {
	name        string
	want, found any
}

func (a *Auditor) compare(f field, d Difference) {
	if f.want == f.found {
		return
	}
	d.Detail, d.Expected, d.Found = f.name, show(f.want), show(f.found)
	a.differ(d)
}

func show(v any) string {
	switch v := v.(type) {
	case time.Time:
		if v.IsZero() {
			return "none"
		}
		return v.Format("2006-01-02T15:04:05.000Z07:00")
	case string:
		if v == "" {
			return "none"
		}
	}
	return fmt.Sprint(v)
}
