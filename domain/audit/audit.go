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
	// KindCustomer: a customer's row is not what the history says, or one of the two is missing.
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
	at      voucher.Version // the voucher's epoch, and the last sequence given out under it
	lastID  int64

	orders    map[voucher.OrderID]*order
	customers map[voucher.CustomerID]*customer
}

// order is what the history says of an order's current reservation.
type order struct {
	record voucher.Record
	seen   bool // its row was shown
}

// customer is what the history says of a customer who was granted a use.
type customer struct {
	voucher.CustomerCount
	seen bool // the row was shown
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
