// Package port declares what the use cases need from the outside world. Each port is a contract: one suite in
// test/contract holds every adapter to it.
package port

import (
	"context"
	"time"

	"voucherd/domain/voucher"
)

// Step is one decision on one voucher, made inside a transaction.
type Step struct {
	Code      voucher.Code
	Orders    []voucher.OrderID    // rows to load; unknown ones are no error
	Customers []voucher.CustomerID // counts to load; those of the loaded orders come by themselves
	// Overdue asks, on what was loaded, whether reservations past their deadline are to be loaded as well: the
	// OverdueBatch that have been for the longest. When there were that many, Loaded.MoreDue is set. Nil: never.
	Overdue func(voucher.Loaded) bool
	// Decide makes the decision; now is the ledger's clock, read under the lock. It must have no effect beside the
	// state but to set variables of the caller, as it may run again after a conflict: the last run counts.
	Decide func(s *voucher.State, now time.Time)
}

// OverdueBatch bounds the overdue reservations that one step loads.
const OverdueBatch = 256

// Ledger is the truth: vouchers, reservations, counts and their history. It is the only transaction boundary.
// All methods may be called from many goroutines and processes at once.
type Ledger interface {
	// Update runs one step in one transaction: it locks the voucher, loads, lets the step decide and writes what it
	// decided together with the history, or writes nothing. Steps of one voucher run one after the other, each on
	// what the one before it left. Errors: voucher.ErrVoucherNotFound, ErrUnavailable, ErrOverloaded, ErrUnknown,
	// ErrRefused. Conflicts that the store reports as retryable are retried within, a bounded number of times. An
	// order that became live on another voucher meanwhile leads to another run, not to an error.
	Update(ctx context.Context, step Step) error
	// Create stores a new voucher and the first entry of its history. Errors: voucher.ErrVoucherExists,
	// ErrUnavailable, ErrOverloaded, ErrUnknown.
	Create(ctx context.Context, v voucher.Voucher, actor string) error
}

// Reader reads what is stored, without locks. Errors: ErrUnavailable, ErrOverloaded, beside those that are named.
type Reader interface {
	// Vouchers returns those of the codes that exist, in any order.
	Vouchers(ctx context.Context, codes []voucher.Code) ([]voucher.Voucher, error)
	// List returns up to limit vouchers in ascending order of code, those after the given code ("" for the first).
	List(ctx context.Context, after voucher.Code, limit int) ([]voucher.Voucher, error)
	// Reservation returns the row of an order, overdue or not. Errors: voucher.ErrVoucherNotFound,
	// voucher.ErrReservationNotFound.
	Reservation(ctx context.Context, code voucher.Code, order voucher.OrderID) (voucher.Reservation, error)
	// Redemptions returns rows of one voucher, the highest version first. Error: voucher.ErrVoucherNotFound.
	Redemptions(ctx context.Context, q RedemptionQuery) ([]voucher.Reservation, error)
	// Due returns up to limit reservations past their deadline at now, of all vouchers, ordered by deadline, code and
	// order, those after the given position.
	Due(ctx context.Context, now time.Time, after Due, limit int) ([]Due, error)
}

// RedemptionQuery selects a page of one voucher's redemptions.
type RedemptionQuery struct {
	Code   voucher.Code
	Status voucher.Status   // empty: all; an overdue reservation counts as released
	Now    time.Time        // the instant that decides what is overdue
	Before *voucher.Version // only versions below it; nil: from the newest
	Limit  int
}

// Due names a reservation past its deadline; the zero value is the position before all of them.
type Due struct {
	ExpiresAt time.Time
	Code      voucher.Code
	Order     voucher.OrderID
}

// Books shows everything that is stored about one voucher as of one instant: what an audit reads.
type Books interface {
	// Read calls visit with the voucher, its history in order of ID, its reservations and its customers' counts, in
	// this order and in pages, all from one consistent view. Errors: voucher.ErrVoucherNotFound, ErrUnavailable,
	// ErrOverloaded; after an error the visitor has seen a part and is to be thrown away.
	Read(ctx context.Context, code voucher.Code, visit BookVisitor) error
}

// BookVisitor takes in what Books.Read shows, uncut and unjudged. Slices belong to the reader again after the call.
type BookVisitor interface {
	Voucher(v voucher.Voucher)
	History(page []voucher.Change)
	Reservations(page []voucher.Reservation)
	Customers(page map[voucher.CustomerID]voucher.CustomerCount)
}

// Clock tells the time. It is injected everywhere, so that a test can move it.
type Clock interface {
	Now() time.Time
}
