package port

import (
	"context"
	"time"

	"voucherd/domain/voucher"
)

// The gate is the counter that decides the reservations of a flash sale before the ledger stores them. It may lose
// everything at any time, so it is never the truth: each answer carries the Footing that it rests on, and a transaction
// that builds on the answer does nothing unless the voucher's row agrees. The rules are those of section "The gate" of
// the published design; four role interfaces cut it by who needs what.
//
// Every call is one atomic step on one server and may be sent twice: a call repeated with the same arguments changes
// nothing more and gives the same answer, but that a GateReserved becomes a GateDuplicate. All methods may be called
// from many goroutines and processes at once. Errors of all of them, beside those that are named: ErrUnavailable,
// ErrOverloaded (also for more than GateBatchMax elements), ErrUnknown (also when too few replicas hold the answer).

const (
	// GateBatchMax is the most requests, references or holds that one call takes.
	GateBatchMax = 512
	// GateLiveMax is the most orders that GateWatch.Live tells.
	GateLiveMax = 10_000
	// SoldOutLease is how long a gate that ran out grants nothing new, so that whoever was told so may repeat it without
	// asking. It is also how long a gate stays closed at least, so that no such promise outlives it.
	SoldOutLease = 200 * time.Millisecond
)

// Footing is what a gate's answer rests on.
type Footing struct {
	Epoch int64
	Mode  voucher.Mode
}

// Standing is the whole voucher as of one change of it. Its Mode counts for nothing here.
type Standing struct {
	Terms  voucher.Terms
	Change int64
}

// StandingOf returns the voucher as a gate is told it.
func StandingOf(v voucher.Voucher) Standing {
	s := v.Snapshot()
	return Standing{Terms: s.Terms, Change: s.Change}
}

// Hold is a live use as the gate knows it. What became of it later (paid, overdue) only the ledger knows.
type Hold struct {
	Order          voucher.OrderID
	Customer       voucher.CustomerID
	OrderAmount    int64 // minor units
	DiscountAmount int64 // minor units
	PerUserLimit   int64 // the limit that it was decided under
	Version        voucher.Version
	CreatedAt      time.Time // whole milliseconds, UTC; so is ExpiresAt
	ExpiresAt      time.Time
	Actor          string // who asked; empty for a hold that was loaded
	Pending        bool   // nobody has reported yet that it is stored
	// Conflicted: the use went back because the order is live on another voucher; the entry only reminds of that.
	Conflicted bool
}

// GateRef names one reservation of an order: a later one of the same order is another.
type GateRef struct {
	Order   voucher.OrderID
	Version voucher.Version
}

// GateCode is what a gate says to one reserve request.
type GateCode int

// The codes. The zero value is none, so that a forgotten one shows.
const (
	// GateReserved: the order holds a use that it did not hold before, and is pending.
	GateReserved GateCode = iota + 1
	// GateDuplicate: the same request holds a use already; it may be past its deadline.
	GateDuplicate
	// GateConflict: the order holds a use for another customer or amount; it may be past its deadline.
	GateConflict
	// GateConflicted: the order was given back because it is live on another voucher: ask the ledger.
	GateConflicted
	// GateStale: the caller knows an older state of the voucher than the gate does.
	GateStale
	// GatePaused, GateNotStarted, GateEnded and GateBelowMinimum: the voucher's terms refuse.
	GatePaused
	GateNotStarted
	GateEnded
	GateBelowMinimum
	// GateCustomerLimit: the customer has all the uses that one customer may have.
	GateCustomerLimit
	// GateOutOfStock: no use is free, or a sold-out lease runs.
	GateOutOfStock
)

// GateBatch is a batch of reserve requests for one voucher, decided in order, each on what the ones before it left.
type GateBatch struct {
	Code voucher.Code
	// As is the voucher as the caller knows it. A gate that knows an older state takes this one over first.
	As Standing
	// Now is the caller's time: it judges the window and becomes CreatedAt. The gate's own clock measures leases and
	// ages only.
	Now      time.Time
	Requests []voucher.Request
	// Settled are reservations whose rows are stored: they leave the pending ones by the way. Up to GateBatchMax.
	Settled []GateRef
}

// GateReply answers one request. Hold is set with GateReserved, GateDuplicate, GateConflict and GateConflicted.
type GateReply struct {
	Code GateCode
	Hold Hold
}

// GateDecision answers a batch, in the order of its requests.
type GateDecision struct {
	Footing
	Replies []GateReply
	// Change is the state of the voucher that was decided under.
	Change int64
	// Sequence is that of the last reservation made under the epoch.
	Sequence int64
	// Lease is how long, counted from before the call was sent, this gate grants nothing new: 0 to SoldOutLease. A
	// process may refuse by itself for so long if it holds all orders as of this epoch and sequence (GateWatch.Live).
	Lease time.Duration
}

// Gate is what requests need. Error of all methods: ErrNotLoaded, when there is no gate, it is closed, parts of it are
// gone, or another server wrote it; nothing happened.
type Gate interface {
	// Reserve decides a batch. An order's existing hold goes first, then ErrStale's code, pause, window, minimum, the
	// customer's limit and the total limit, in this order.
	Reserve(ctx context.Context, b GateBatch) (GateDecision, error)
	// Acknowledge takes the named reservations out of the pending ones and says of each whether it is held. Only those
	// that are may be told to anybody.
	Acknowledge(ctx context.Context, code voucher.Code, refs []GateRef) ([]bool, error)
	// GiveBack frees the uses of the named reservations, each only if that version is held, and says of each whether it
	// was. It acts under the given epoch only; another one is ErrNotLoaded. With conflicted an order that was held stays
	// as a reminder without a use; without it such a reminder goes as well.
	GiveBack(ctx context.Context, code voucher.Code, epoch int64, refs []GateRef, conflicted bool) ([]bool, error)
	// Find returns the holds of the orders by order; one without a hold is absent.
	Find(ctx context.Context, code voucher.Code, orders []voucher.OrderID) (map[voucher.OrderID]Hold, Footing, error)
}

// GateLive is the set of orders that a gate holds.
type GateLive struct {
	Footing
	Sequence int64
	Orders   []voucher.OrderID // in no order; nil if there are more than GateLiveMax
	Complete bool              // false: there are more than GateLiveMax
}

// GateSummary is a gate in numbers.
type GateSummary struct {
	Footing
	Open       bool  // it serves; otherwise all else may be zero
	Change     int64 // the state of the voucher that it knows
	Total      int64 // the total limit that it works with
	Remaining  int64
	Orders     int64 // holds, reminders of conflicts included
	Conflicted int64 // those reminders
	Customers  int64
	Pending    int64
}

// GateVisitor takes in what GateWatch.Inspect shows. Slices and maps belong to the gate again after the call.
type GateVisitor interface {
	Summary(s GateSummary)
	Holds(page []Hold)
	Customers(page map[voucher.CustomerID]int64)
}

// GateWatch is what jobs and the sold-out cache need. It changes nothing.
type GateWatch interface {
	// Pending returns up to limit holds that have been pending for age or longer by the gate's clock, the oldest first.
	// limit is 1 to GateBatchMax. Error: ErrNotLoaded.
	Pending(ctx context.Context, code voucher.Code, age time.Duration, limit int) ([]Hold, Footing, error)
	// Live returns all orders as of one instant. Error: ErrNotLoaded.
	Live(ctx context.Context, code voucher.Code) (GateLive, error)
	// Summary returns the numbers of one instant. A gate that doesn't serve is no error.
	Summary(ctx context.Context, code voucher.Code) (GateSummary, error)
	// Inspect shows the summary, then holds and customers in pages while others go on. What stays the same meanwhile is
	// shown, perhaps twice; what changes may be shown or not. A gate that doesn't serve has its summary shown alone.
	// Error: ErrStale when the gate was loaded anew or lost in between; then the visitor is to be thrown away.
	Inspect(ctx context.Context, code voucher.Code, visit GateVisitor) error
}

// GateTold says what a gate was left with.
type GateTold struct {
	Footing
	Change int64         // the state of the voucher that it knows now
	Total  int64         // the total limit that it works with now
	Lease  time.Duration // how long from now it may grant nothing new
}

// GateKeeper carries changes of a voucher to its gate.
type GateKeeper interface {
	// Tell gives the gate the whole voucher, which it takes over unless it knows a later state. Error: ErrNotLoaded.
	Tell(ctx context.Context, code voucher.Code, as Standing) (GateTold, error)
	// Lower makes the gate give up free uses, so that it works with the total limit total, which is to be stored next.
	// as is the voucher as it is stored now. A gate that works with no more than total is left alone. Errors:
	// ErrNotLoaded, ErrStale when the gate knows a later state, voucher.ErrLimitBelowUsed when fewer are free.
	Lower(ctx context.Context, code voucher.Code, as Standing, total int64) (GateTold, error)
	// Retire deletes a gate of the epoch or a lower one, or of another server, and reports whether none is left. Unless
	// force is set it leaves a gate that serves and holds orders.
	Retire(ctx context.Context, code voucher.Code, epoch int64, force bool) (bool, error)
}

// Seal proves which gate a loader closed: the following steps act on this one alone.
type Seal struct {
	Code   voucher.Code
	Epoch  int64
	Server string // the identity of the server; means nothing to a caller
}

// Opening is what a gate opens with, as it was read in one transaction of the ledger.
type Opening struct {
	Standing
	Mode      voucher.Mode
	Remaining int64
	Holds     int64 // how many holds were filled in
}

// GateLoader builds a gate from what the ledger says. Loaders may race and die at any step: each has its own epoch and
// the highest one wins. Error of all methods: ErrSuperseded, when another loader was there or the gate was lost, so
// that this load has come to nothing and begins anew from the ledger.
type GateLoader interface {
	// Close shuts the gate under the epoch and empties it. From then on nothing of a lower epoch is acknowledged.
	// Repeated under the same epoch it leaves a closed gate as it is.
	Close(ctx context.Context, code voucher.Code, epoch int64) (Seal, error)
	// Fill adds holds to the closed gate, up to GateBatchMax a call. A hold that is there already is left alone.
	Fill(ctx context.Context, s Seal, holds []Hold) error
	// Open lets the gate serve. A wait above 0 says that it is too early and nothing happened: ask again after it.
	// Error, also: ErrUnfit, when the server may evict keys.
	Open(ctx context.Context, s Seal, o Opening) (wait time.Duration, err error)
}
