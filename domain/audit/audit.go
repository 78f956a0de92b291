// Package audit recomputes what happened to a voucher from its history alone, and compares the result with what is
// stored: the proof that no use was given twice, or the list of what doesn't fit.
package audit

import (
	"fmt"
	"slices"
	"time"

	"voucherd/domain/voucher"
)

// MaxDifferences bounds the differences that a report names; DifferencesTotal counts all of them.
const MaxDifferences = 100

// The kinds of difference.
const (
	// KindHistory: the history contradicts itself.
	KindHistory = "history"
	// KindLimit: more uses were live at once than the total limit in force.
	KindLimit = "total_limit"
	// KindCustomerLimit: a customer was granted a use over the per-user limit in force.
	KindCustomerLimit = "per_user_limit"
	// KindVoucher: a field of the voucher's row is not what the history says.
	KindVoucher = "voucher"
	// KindUsedCount: used_count is not the number of live uses.
	KindUsedCount = "used_count"
	// KindRow: a redemption's row is not what the history says, or one of the two is missing.
	KindRow = "redemption"
	// KindCustomer: a customer's count is not the number of the customer's live uses.
	KindCustomer = "customer"
)

// Difference is one thing that doesn't fit.
type Difference struct {
	Kind       string
	OrderID    voucher.OrderID    // where it concerns one order
	CustomerID voucher.CustomerID // where it concerns one customer
	Expected   string             // by the history
	Found      string             // as stored
	Detail     string             // which field or rule
}

// Report is the outcome of an audit.
type Report struct {
	Code      voucher.Code
	History   int // entries read
	Limit     int64
	Used      int64 // used_count as stored
	Granted   int   // reservations made
	Confirmed int
	Released  map[string]int // by reason

	Live           int64     // uses held at the end
	MaxLive        int64     // most uses held at any instant
	MaxLiveAt      time.Time // when that was first so
	Customers      int       // customers who were ever granted a use
	MaxPerCustomer int64     // most uses that one customer held at any instant

	Differences      []Difference // the first MaxDifferences
	DifferencesTotal int
}

// OK reports whether everything fits.
func (r Report) OK() bool { return r.DifferencesTotal == 0 }

// Auditor takes in a voucher's books (it is a port.BookVisitor: first the voucher, then the history in order, then
// rows and counts) and gives the report. It is used by one goroutine.
type Auditor struct {
	report Report
	stored voucher.Voucher

	terms   voucher.Terms
	created time.Time
	updated time.Time
	change  int64
	last    voucher.Version // the highest version given out
	lastID  int64

	orders    map[voucher.OrderID]*order
	customers map[voucher.CustomerID]*customer
}

// order is what the history says of an order's current reservation.
type order struct {
	record voucher.Record
	seen   bool // its row was shown
}

type customer struct {
	live int64
	seen bool
}

// New returns an auditor for one voucher.
func New() *Auditor {
	return &Auditor{
		report: Report{Released: map[string]int{}},
		orders: map[voucher.OrderID]*order{}, customers: map[voucher.CustomerID]*customer{},
	}
}

// Voucher takes in the voucher's row.
func (a *Auditor) Voucher(v voucher.Voucher) {
	a.stored = v
	a.report.Code, a.report.Used = v.Code(), v.Used()
}

// History takes in the next page of the history.
func (a *Auditor) History(page []voucher.Change) {
	for _, c := range page {
		a.report.History++
		if c.ID <= a.lastID {
			a.differ(Difference{Kind: KindHistory, Detail: fmt.Sprintf("entry %d comes after entry %d", c.ID, a.lastID)})
		}
		a.lastID = c.ID
		a.apply(c)
	}
}

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
	if c.Kind == voucher.VoucherCreated {
		a.created = c.At
	}
	a.terms, a.updated, a.change = *c.TermsAfter, c.At, c.Version.Sequence
	a.report.Limit = a.terms.TotalLimit
	a.checkLimit(c)
}

func (a *Auditor) applyMade(c voucher.Change) {
	if o, ok := a.orders[c.Order]; ok && o.record.Status != voucher.Released {
		a.differ(Difference{Kind: KindHistory, OrderID: c.Order, Detail: fmt.Sprintf("entry %d reserves an order that is %s", c.ID, o.record.Status)})
	}
	if c.Version.Compare(a.last) <= 0 {
		a.differ(Difference{Kind: KindHistory, OrderID: c.Order, Detail: fmt.Sprintf("entry %d has version %s, not above %s", c.ID, c.Version, a.last)})
	}
	a.last = c.Version
	f := c.After
	if f == nil {
		f = &voucher.Facts{}
	}
	if want := min(a.terms.DiscountAmount, f.OrderAmount); f.DiscountAmount != want {
		a.differ(Difference{Kind: KindHistory, OrderID: c.Order, Detail: "discount granted", Expected: fmt.Sprint(want), Found: fmt.Sprint(f.DiscountAmount)})
	}
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
	who.live++
	if who.live > a.terms.PerUserLimit {
		a.differ(Difference{
			Kind: KindCustomerLimit, OrderID: c.Order, CustomerID: c.Customer, Detail: fmt.Sprintf("live uses after entry %d", c.ID),
			Expected: fmt.Sprintf("at most %d", a.terms.PerUserLimit), Found: fmt.Sprint(who.live),
		})
	}
	a.report.MaxPerCustomer = max(a.report.MaxPerCustomer, who.live)
}

func (a *Auditor) applyEnd(c voucher.Change) {
	o, ok := a.orders[c.Order]
	if !ok || o.record.Status != voucher.Reserved || o.record.Version != c.Version || o.record.Customer != c.Customer {
		a.differ(Difference{Kind: KindHistory, OrderID: c.Order, Detail: fmt.Sprintf("entry %d (%s) ends a reservation that is not there", c.ID, c.Kind)})
		return
	}
	if c.Kind == voucher.ReservationConfirmed {
		a.report.Confirmed++
		o.record.Status, o.record.ConfirmedAt = voucher.Confirmed, c.At
		return
	}
	o.record.Status = voucher.Released
	if c.After != nil {
		o.record.ReleasedAt, o.record.ReleaseReason = c.After.ReleasedAt, c.After.ReleaseReason
	}
	a.report.Released[o.record.ReleaseReason]++
	a.report.Live--
	a.customer(c.Customer).live--
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

func (a *Auditor) differ(d Difference) {
	a.report.DifferencesTotal++
	if len(a.report.Differences) < MaxDifferences {
		a.report.Differences = append(a.report.Differences, d)
	}
}

// sortedKeys keeps reports of the same books equal.
func sortedKeys[K voucher.OrderID | voucher.CustomerID, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
