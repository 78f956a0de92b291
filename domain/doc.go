// Package domain holds what is true about vouchers on any machine and under any store: values that keep their own rules,
// and pure decisions about them. It does no I/O, reads no clock and starts no goroutine.
//
// The house has five rooms, and imports go one way only:
//
//	main.go ─▶ bootstrap ─▶ adapters ─▶ application ─▶ domain
//
//	domain       fault: the one type of refusal; voucher: vouchers, reservations, limits, decisions; audit: the proof
//	application  the use cases and the ports that they need
//	adapters     one technology each, behind a port: rest, cli, postgres, redis, memory, observe
//	bootstrap    settings, and the whole map from port to adapter in one file
//	migrations   the schema, as numbered SQL
//
// A reserve passes through them like this:
//
//	rest.reserve ─▶ reservation.Service ─▶ Combiner ─▶ Decider of the voucher's mode ─▶ Ledger.Update
//	   decode          look up the code      batch          Standard                       lock, load,
//	   answer ◀───────────────────────────────────────────────────────────────────────     State.Reserve, write
//
// The words: a voucher has a code, a discount and limits. A reservation holds one use of it for one order until its
// deadline; it ends once, confirmed or released. Stored, it is called a redemption. A use is live while it is reserved
// or confirmed. A version (epoch, sequence) orders the reservations of one order.
package domain
