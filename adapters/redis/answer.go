package redis

import (
	"fmt"
	"strconv"
	"time"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// What stands first in an answer; see scripts/prelude.lua.
const (
	wireDone       = "1"
	wireNotLoaded  = "-3"
	wireStale      = "-5"
	wireSuperseded = "-20"
	wireUnfit      = "-21"
	wireBelowUsed  = "-22"
)

// wireCodes are what the reserve script says to one request.
var wireCodes = map[string]port.GateCode{
	"1": port.GateReserved, "0": port.GateDuplicate, "-1": port.GateOutOfStock, "-2": port.GateCustomerLimit,
	"-4": port.GateConflict, "-5": port.GateStale, "-6": port.GatePaused, "-7": port.GateNotStarted, "-8": port.GateEnded,
	"-9": port.GateBelowMinimum, "-10": port.GateConflicted,
}

// answer reads what a script returned, one value after the other. The first misfit is kept and told by err: an answer
// that can't be read is an effect that is not known.
type answer struct {
	script string
	values []string
	at     int
	misfit error
}

// refused reports whether the script did nothing, so that no replica has to hold anything.
func (a *answer) refused() bool {
	return len(a.values) > 0 && (a.values[0] == wireNotLoaded || a.values[0] == wireSuperseded || a.values[0] == wireUnfit)
}

// status takes the first value and returns the error that it stands for.
func (a *answer) status() error {
	switch s := a.next(); s {
	case wireDone:
		return nil
	case wireNotLoaded:
		return port.ErrNotLoaded
	case wireStale:
		return port.ErrStale
	case wireSuperseded:
		return port.ErrSuperseded
	case wireUnfit:
		return fmt.Errorf("%w: maxmemory-policy is %s, which evicts keys: set noeviction", port.ErrUnfit, a.next())
	case wireBelowUsed:
		return voucher.ErrLimitBelowUsed
	default:
		return a.fail("status " + strconv.Quote(s))
	}
}

func (a *answer) fail(what string) error {
	if a.misfit == nil {
		a.misfit = fmt.Errorf("%w: script %s answered %s at %d", port.ErrUnknown, a.script, what, a.at)
	}
	return a.misfit
}

// err returns the first misfit, if there was one.
func (a *answer) err() error { return a.misfit }

// more reports whether values are left.
func (a *answer) more() bool { return a.misfit == nil && a.at < len(a.values) }

func (a *answer) next() string {
	if a.at >= len(a.values) {
		_ = a.fail("too little")
		return ""
	}
	a.at++
	return a.values[a.at-1]
}

func (a *answer) number() int64 {
	s := a.next()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		_ = a.fail(strconv.Quote(s))
	}
	return n
}

func (a *answer) yes() bool { return a.next() == "1" }

// micros is a duration, given in µs.
func (a *answer) micros() time.Duration { return time.Duration(a.number()) * time.Microsecond }

func (a *answer) footing() port.Footing {
	return port.Footing{Epoch: a.number(), Mode: voucher.Mode(a.next())}
}

// hold takes a record and the pending mark; order is whose it is.
func (a *answer) hold(order voucher.OrderID) port.Hold {
	h, err := decode(order, a.next())
	if err != nil {
		_ = a.fail(err.Error())
	}
	h.Pending = a.yes()
	return h
}

// bools takes n marks.
func (a *answer) bools(n int) []bool {
	marks := make([]bool, n)
	for i := range marks {
		marks[i] = a.yes()
	}
	return marks
}
