package audit

import (
	"fmt"

	"voucherd/domain/voucher"
)

func (a *Auditor) apply(c voucher.Change) {
	if a.report.History == 1 != (c.Kind == voucher.VoucherCreated) {
		a.differ(Difference{Kind: KindHistory, Detail: fmt.Sprintf("entry %d is %s: a history begins with its one %s", c.ID, c.Kind, voucher.VoucherCreated)})
	}
	switch c.Kind {
	case voucher.VoucherCreated, voucher.VoucherAmended:
		a.applyTerms(c)
	case voucher.ReservationMade:
		a.applyMade(c)
	case voucher.ReservationConfirmed, voucher.ReservationReleased:
		a.applyEnd(c)
	default:
		a.differ(Difference{Kind: KindHistory, Detail: fmt.Sprintf("entry %d is of the unknown kind %s", c.ID, c.Kind)})
	}
}

func (a *Auditor) applyTerms(c voucher.Change) {
	// Terms that were changed and changed back leave no trace but the change number.
	follows := c.TermsBefore == nil && c.Version.Sequence == 0
	if c.Kind == voucher.VoucherAmended {
		follows = c.TermsBefore != nil && *c.TermsBefore == a.terms && c.Version.Sequence == a.change+1
	}
	if c.TermsAfter == nil || !follows {
		a.differ(Difference{Kind: KindHistory, Detail: fmt.Sprintf("entry %d does not follow from the terms before it", c.ID)})
	}
	if c.TermsAfter == nil {
		return
	}
	a.applyEpoch(c)
	if c.Kind == voucher.VoucherCreated {
		a.created = c.At
	}
	a.terms, a.updated, a.change = *c.TermsAfter, c.At, c.Version.Sequence
	a.report.Limit = a.terms.TotalLimit
	a.checkLimit(c)
}

// applyEpoch takes over the epoch of an entry about the voucher: a new one begins with the voucher and with each change
// of its mode.
func (a *Auditor) applyEpoch(c voucher.Change) {
	want := a.at.Epoch
	switch {
	case c.Kind == voucher.VoucherCreated:
		want = voucher.NextEpoch(0, c.At)
	case c.TermsAfter.Mode != a.terms.Mode:
		want = voucher.NextEpoch(a.at.Epoch, c.At)
	}
	a.compare(field{fmt.Sprintf("epoch of entry %d", c.ID), want, c.Version.Epoch}, Difference{Kind: KindHistory})
	if c.Version.Epoch != a.at.Epoch {
		a.at = voucher.Version{Epoch: c.Version.Epoch}
	}
}

func (a *Auditor) applyMade(c voucher.Change) {
	if o, ok := a.orders[c.Order]; ok && o.record.Status != voucher.Released {
		a.differ(Difference{Kind: KindHistory, OrderID: c.Order, Detail: fmt.Sprintf("entry %d reserves an order that is %s", c.ID, o.record.Status)})
	}
	// A version that was given out stands in the history: what is rolled back takes its number along. A gap is an entry
	// that was removed.
	want := voucher.Version{Epoch: a.at.Epoch, Sequence: a.at.Sequence + 1}
	a.compare(field{fmt.Sprintf("version of entry %d", c.ID), want, c.Version}, Difference{Kind: KindHistory, OrderID: c.Order})
	if c.Version.Compare(a.at) > 0 {
		a.at = c.Version
	}
	f := a.checkMade(c)
	a.orders[c.Order] = &order{record: voucher.Record{
		Code: c.Code, Order: c.Order, Customer: c.Customer, OrderAmount: f.OrderAmount, DiscountAmount: f.DiscountAmount,
		Status: voucher.Reserved, Version: c.Version, CreatedAt: c.At, ExpiresAt: f.ExpiresAt,
	}}
	a.report.Granted++
	a.report.Live++
	a.checkLimit(c)
	if a.report.Live > a.report.MaxLive {
		a.report.MaxLive, a.report.MaxLiveAt = a.report.Live, c.At
	}
	who := a.customer(c.Customer)
	who.Uses++
	who.LimitSeen = a.terms.PerUserLimit
	if who.Uses > who.LimitSeen {
		a.differ(Difference{
			Kind: KindCustomerLimit, OrderID: c.Order, CustomerID: c.Customer, Detail: fmt.Sprintf("live uses after entry %d", c.ID),
			Expected: fmt.Sprintf("at most %d", who.LimitSeen), Found: fmt.Sprint(who.Uses),
		})
	}
	a.report.MaxPerCustomer = max(a.report.MaxPerCustomer, who.Uses)
}

// checkMade returns the facts of a grant, which must be what the terms allow.
func (a *Auditor) checkMade(c voucher.Change) voucher.Facts {
	var f voucher.Facts
	if c.After != nil {
		f = *c.After
	}
	d := Difference{Kind: KindHistory, OrderID: c.Order}
	a.compare(field{"discount granted", min(a.terms.DiscountAmount, f.OrderAmount), f.DiscountAmount}, d)
	a.compare(field{fmt.Sprintf("refusal at entry %d", c.ID), a.terms.Refuses(f.OrderAmount, c.At), ""}, d)
	a.checkFacts(c, nil, voucher.Facts{
		Status: voucher.Reserved, OrderAmount: f.OrderAmount, DiscountAmount: f.DiscountAmount, ExpiresAt: f.ExpiresAt,
	})
	return f
}

func (a *Auditor) applyEnd(c voucher.Change) {
	o, ok := a.orders[c.Order]
	if !ok || o.record.Status != voucher.Reserved || o.record.Version != c.Version || o.record.Customer != c.Customer {
		a.differ(Difference{Kind: KindHistory, OrderID: c.Order, Detail: fmt.Sprintf("entry %d (%s) ends a reservation that is not there", c.ID, c.Kind)})
		return
	}
	after := voucher.Facts{Status: voucher.Confirmed}
	if c.Kind == voucher.ReservationReleased {
		after = voucher.Facts{Status: voucher.Released, ReleasedAt: c.At}
		if c.After != nil {
			after.ReleaseReason = c.After.ReleaseReason
		}
	}
	// From its deadline on a reservation expires, and nothing else becomes of it.
	expired := after.ReleaseReason == voucher.Expired
	if overdue := !c.At.Before(o.record.ExpiresAt); overdue != expired {
		a.differ(Difference{Kind: KindHistory, OrderID: c.Order, Detail: fmt.Sprintf(
			"entry %d (%s) of %s does not fit the deadline %s", c.ID, c.Kind, show(c.At), show(o.record.ExpiresAt),
		)})
	}
	if expired {
		after.ReleasedAt = o.record.ExpiresAt
	}
	a.checkFacts(c, &voucher.Facts{Status: voucher.Reserved}, after)
	if c.Kind == voucher.ReservationConfirmed {
		a.report.Confirmed++
		o.record.Status, o.record.ConfirmedAt = voucher.Confirmed, c.At
		return
	}
	o.record.Status, o.record.ReleasedAt, o.record.ReleaseReason = voucher.Released, after.ReleasedAt, after.ReleaseReason
	a.report.Released[o.record.ReleaseReason]++
	a.report.Live--
	a.customer(c.Customer).Uses--
}

// checkFacts compares what an entry says was before and after it; nil is nothing.
func (a *Auditor) checkFacts(c voucher.Change, before *voucher.Facts, after voucher.Facts) {
	same := c.After != nil && *c.After == after && (c.Before == nil) == (before == nil) && (before == nil || *c.Before == *before)
	if !same {
		a.differ(Difference{Kind: KindHistory, OrderID: c.Order, Detail: fmt.Sprintf("the facts of entry %d do not make it %s", c.ID, c.Kind)})
	}
}

func (a *Auditor) customer(id voucher.CustomerID) *customer {
	c, ok := a.customers[id]
	if !ok {
		c = &customer{}
		a.customers[id] = c
		a.report.Customers++
	}
	return c
}

func (a *Auditor) checkLimit(c voucher.Change) {
	if a.report.Live > a.terms.TotalLimit {
		a.differ(Difference{
			Kind: KindLimit, OrderID: c.Order, Detail: fmt.Sprintf("live uses after entry %d", c.ID),
			Expected: fmt.Sprintf("at most %d", a.terms.TotalLimit), Found: fmt.Sprint(a.report.Live),
		})
	}
}
