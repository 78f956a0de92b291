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
func (a *Auditor) Customers(page map[voucher.CustomerID]voucher.CustomerCount) {
	for _, id := range sortedKeys(page) {
		found, d := page[id], Difference{Kind: KindCustomer, CustomerID: id}
		want, ok := a.customers[id]
		if !ok {
			d.Detail, d.Expected, d.Found = "row without history", "none", fmt.Sprint(found.Uses)
			a.differ(d)
			continue
		}
		want.seen = true
		a.compare(field{"uses", want.Uses, found.Uses}, d)
		a.compare(field{"limit_seen", want.LimitSeen, found.LimitSeen}, d)
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
		if c := a.customers[id]; !c.seen {
			a.differ(Difference{Kind: KindCustomer, CustomerID: id, Detail: "row", Expected: fmt.Sprint(c.Uses), Found: "none"})
		}
	}
	a.compare(field{"used_count", a.report.Live, a.stored.Used()}, Difference{Kind: KindUsedCount})
	a.compareVoucher()
	return a.report
}

// compareVoucher compares the voucher's row, but for its count. The history doesn't tell of a configured mode, a
// drained epoch or a partition, so it says that there is none.
func (a *Auditor) compareVoucher() {
	want, got := a.terms, a.stored.Terms()
	row := a.stored.Snapshot()
	partition := ""
	if row.Partition != nil {
		partition = fmt.Sprint(*row.Partition)
	}
	for _, f := range []field{
		{"discount_amount", want.DiscountAmount, got.DiscountAmount},
		{"min_order_amount", want.MinOrderAmount, got.MinOrderAmount},
		{"total_limit", want.TotalLimit, got.TotalLimit},
		{"per_user_limit", want.PerUserLimit, got.PerUserLimit},
		{"starts_at", want.StartsAt, got.StartsAt},
		{"ends_at", want.EndsAt, got.EndsAt},
		{"paused", want.Paused, got.Paused},
		{"mode", want.Mode, got.Mode},
		{"config_mode", "", string(row.ConfigMode)},
		{"epoch", a.at.Epoch, row.Epoch},
		{"sequence", a.at.Sequence, row.Sequence},
		{"drained_epoch", int64(0), row.Drained},
		{"partition", "", partition},
		{"change_number", a.change, row.Change},
		{"created_at", a.created, row.CreatedAt},
		{"updated_at", a.updated, row.UpdatedAt},
	} {
		a.compare(f, Difference{Kind: KindVoucher})
	}
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
		if voucher.Instant(v) != v {
			return v.Format(time.RFC3339Nano) // nothing that this program wrote
		}
		return v.Format("2006-01-02T15:04:05.000Z07:00")
	case string:
		if v == "" {
			return "none"
		}
	}
	return fmt.Sprint(v)
}
