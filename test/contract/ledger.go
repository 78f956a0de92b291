package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// Ledger holds an adapter to the promises of port.Ledger, port.Reader and port.Books, each case on an empty store.
func Ledger(t *testing.T, open Open) {
	t.Helper()
	for _, group := range []map[string]func(*world){ledgerCases, overdueCases, raceCases, readerCases, booksCases} {
		for name, run := range group {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, open)
				run(w)
				w.check()
			})
		}
	}
}

var ledgerCases = map[string]func(*world){
	"create, and create again":                      createTwice,
	"a voucher comes back as it was stored":         createRoundTrip,
	"an unknown voucher":                            unknownVoucher,
	"granted, repeated, in conflict":                grantRepeatConflict,
	"F08 limit N gives N":                           limitNGivesN,
	"a batch decides in order":                      batchInOrder,
	"a batch with one order many times":             batchOfTwins,
	"not eligible takes nothing":                    notEligible,
	"released, a use can be had again":              giveBack,
	"a released order is free for anything":         revive,
	"confirmed, a use stays":                        confirmStays,
	"an end is final":                               endIsFinal,
	"a condition on the version":                    condition,
	"expiry ends what is due, once":                 expiry,
	"an overdue use gives way":                      overdueGivesWay,
	"an overdue order is reserved anew":             overdueRepeat,
	"an overdue use gives way to a lower limit":     overdueAmend,
	"an order live on another voucher":              elsewhere,
	"an order overdue on another voucher":           blocked,
	"an order released on another voucher":          releasedElsewhere,
	"amend all terms":                               amendAll,
	"amend nothing":                                 amendNothing,
	"amend refused leaves no trace":                 amendRefused,
	"a lower per-user limit takes nothing":          lowerPerUser,
	"a mode change raises the epoch":                modeChange,
	"a step sees the one before it":                 stepsFollow,
	"an ended context":                              endedContext,
	"a decision without changes":                    noChanges,
	"values are copies":                             copies,
	"several ends in one step":                      severalEnds,
	"customers come without being asked":            customersCome,
	"the limit seen is the last grant's":            limitSeen,
	"an order of 64 characters and a customer 2^63": extremes,
}

func createTwice(w *world) {
	first := w.voucher("SALE", 10, 1)
	other, err := voucher.New("SALE", voucher.Terms{
		DiscountAmount: 1, TotalLimit: 1, PerUserLimit: 1, Mode: voucher.Standard, StartsAt: Start, EndsAt: Start.Add(time.Second),
	}, Start)
	require.NoError(w, err)
	require.ErrorIs(w, w.Ledger.Create(w.Context(), other, actor), voucher.ErrVoucherExists)
	require.Equal(w, first, w.stored("SALE"))
	require.Len(w, w.book("SALE").history, 1)
}

func createRoundTrip(w *world) {
	zone := time.FixedZone("somewhere", -9*3600)
	v := w.voucher("A-B_9", voucher.MaxLimit, voucher.MaxLimit, func(t *voucher.Terms) {
		t.DiscountAmount, t.MinOrderAmount = voucher.MaxAmount, voucher.MaxAmount
		t.StartsAt = time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)
		t.EndsAt = time.Date(9999, time.December, 31, 14, 59, 59, 999_999_999, zone)
		t.Paused, t.Mode = true, voucher.FlashAsync
	})
	require.Equal(w, v, w.stored("A-B_9"))
	require.Equal(w, time.UTC, w.stored("A-B_9").Terms().EndsAt.Location())
}

func unknownVoucher(w *world) {
	err := w.Ledger.Update(w.Context(), port.Step{Code: "NONE", Orders: []voucher.OrderID{"a"}, Customers: []voucher.CustomerID{1},
		Decide: func(*voucher.State, time.Time) { w.Error("decided without a voucher") }})
	require.ErrorIs(w, err, voucher.ErrVoucherNotFound)
}

func grantRepeatConflict(w *world) {
	w.voucher("SALE", 2, 2)
	first := w.hold("SALE", 7, "a")
	require.Equal(w, voucher.Record{
		Code: "SALE", Order: "a", Customer: 7, OrderAmount: amount, DiscountAmount: discount, Status: voucher.Reserved,
		Version: voucher.Version{Epoch: Start.UnixMilli(), Sequence: 1}, CreatedAt: Start, ExpiresAt: Start.Add(ttl),
	}, first.Record())
	w.Clock.Advance(time.Minute)
	again := w.reserveOne("SALE", 7, "a")
	require.Equal(w, voucher.Outcome{Verdict: voucher.Repeated, Reservation: first}, again)
	require.Equal(w, first.Record(), w.row("SALE", "a"))
	require.Equal(w, voucher.Conflict, w.reserveOne("SALE", 8, "a").Verdict)
	other := request(7, "a")
	other.Amount++
	require.Equal(w, voucher.Conflict, w.reserve("SALE", other)[0].Verdict)
	require.EqualValues(w, 1, w.stored("SALE").Used())
}

func limitNGivesN(w *world) {
	w.voucher("ELSEWHERE", 100, 100)
	for n := range 3 {
		total, each := voucher.Code("TOTAL"+string(rune('1'+n))), voucher.Code("EACH"+string(rune('1'+n)))
		limit := int64(n + 1)
		w.voucher(total, limit, 1)
		w.voucher(each, 100, limit)
		// Neither other vouchers nor released orders count.
		w.hold("ELSEWHERE", 1, orderID(1000+10*n))
		w.hold("ELSEWHERE", 1, orderID(1001+10*n))
		w.hold(each, 1, orderID(2000+10*n))
		require.NoError(w, w.release(each, orderID(2000+10*n)))
		w.hold(each, 1, orderID(2001+10*n))
		require.NoError(w, w.release(each, orderID(2001+10*n)))
		for i := range n + 1 {
			w.hold(total, voucher.CustomerID(i+1), orderID(100*n+i))
			w.hold(each, 1, orderID(100*n+50+i))
		}
		require.Equal(w, voucher.OutOfStock, w.reserveOne(total, 99, orderID(100*n+49)).Verdict)
		require.Equal(w, voucher.LimitReached, w.reserveOne(each, 1, orderID(100*n+99)).Verdict)
		require.Equal(w, limit, w.stored(total).Used())
		require.Equal(w, limit, w.stored(each).Used())
	}
}

func batchInOrder(w *world) {
	w.voucher("SALE", 3, 1)
	w.hold("SALE", 1, "a")
	out := w.reserve("SALE",
		request(1, "a"), request(1, "b"), request(2, "a"), request(2, "c"), request(2, "d"), request(3, "e"), request(4, "f"), request(2, "c"))
	var verdicts []voucher.Verdict
	for _, o := range out {
		verdicts = append(verdicts, o.Verdict)
	}
	require.Equal(w, []voucher.Verdict{
		voucher.Repeated, voucher.LimitReached, voucher.Conflict, voucher.Granted, voucher.LimitReached, voucher.Granted,
		voucher.OutOfStock, voucher.Repeated,
	}, verdicts)
	require.Equal(w, out[3].Reservation, out[7].Reservation)
	require.Equal(w, out[3].Reservation.Record(), w.row("SALE", "c"))
	require.Equal(w, out[5].Reservation.Record(), w.row("SALE", "e"))
	for _, refused := range []voucher.OrderID{"b", "d", "f"} {
		_, err := w.Reader.Reservation(w.Context(), "SALE", refused)
		require.ErrorIs(w, err, voucher.ErrReservationNotFound)
	}
}

func batchOfTwins(w *world) {
	w.voucher("SALE", 10, 10)
	reqs := make([]voucher.Request, 50)
	for i := range reqs {
		reqs[i] = request(1, "twin")
	}
	out := w.reserve("SALE", reqs...)
	require.Equal(w, map[voucher.Verdict]int{voucher.Granted: 1, voucher.Repeated: 49}, count(out))
	require.EqualValues(w, 1, w.stored("SALE").Used())
}

func notEligible(w *world) {
	w.voucher("PAUSED", 1, 1, func(t *voucher.Terms) { t.Paused = true })
	w.voucher("EARLY", 1, 1, func(t *voucher.Terms) { t.StartsAt = Start.Add(time.Millisecond) })
	w.voucher("LATE", 1, 1, func(t *voucher.Terms) { t.EndsAt = Start })
	w.voucher("DEAR", 1, 1, func(t *voucher.Terms) { t.MinOrderAmount = amount + 1 })
	for code, reason := range map[voucher.Code]string{
		"PAUSED": voucher.ReasonPaused, "EARLY": voucher.ReasonNotStarted, "LATE": voucher.ReasonEnded, "DEAR": voucher.ReasonBelowMinimum,
	} {
		before := w.stored(code)
		require.Equal(w, voucher.Outcome{Verdict: voucher.NotEligible, Reason: reason}, w.reserveOne(code, 1, "a"))
		require.Equal(w, before, w.stored(code))
		require.Len(w, w.book(code).history, 1)
	}
}

func giveBack(w *world) {
	w.voucher("SALE", 1, 1)
	w.hold("SALE", 7, "a")
	w.Clock.Advance(time.Minute)
	require.NoError(w, w.release("SALE", "a"))
	got := w.row("SALE", "a")
	require.Equal(w, voucher.Released, got.Status)
	require.Equal(w, voucher.Cancelled, got.ReleaseReason)
	require.Equal(w, Start.Add(time.Minute), got.ReleasedAt)
	require.EqualValues(w, 0, w.stored("SALE").Used())
	require.EqualValues(w, 0, w.book("SALE").customers[7])
	require.EqualValues(w, 2, w.hold("SALE", 7, "b").Record().Version.Sequence)
}

func revive(w *world) {
	w.voucher("SALE", 5, 5)
	w.voucher("OTHER", 5, 5)
	first := w.hold("SALE", 7, "a")
	require.NoError(w, w.release("SALE", "a"))
	again := request(8, "a")
	again.Amount = 10 // below the discount
	out := w.reserve("SALE", again)[0]
	require.Equal(w, voucher.Granted, out.Verdict)
	require.Equal(w, 1, out.Reservation.Record().Version.Compare(first.Record().Version))
	require.EqualValues(w, 10, out.Reservation.Record().DiscountAmount)
	require.Equal(w, out.Reservation.Record(), w.row("SALE", "a"))
	b := w.book("SALE")
	require.EqualValues(w, 0, b.customers[7])
	require.EqualValues(w, 1, b.customers[8])
	require.Len(w, b.reservations, 1)
	require.NoError(w, w.release("SALE", "a"))
	w.hold("OTHER", 9, "a")
}

func confirmStays(w *world) {
	w.voucher("SALE", 1, 1)
	held := w.hold("SALE", 7, "a").Record()
	w.Clock.Advance(time.Minute)
	r, err := w.confirm("SALE", "a")
	require.NoError(w, err)
	held.Status, held.ConfirmedAt = voucher.Confirmed, Start.Add(time.Minute)
	require.Equal(w, held, r.Record())
	require.Equal(w, held, w.row("SALE", "a"))
	w.Clock.Advance(2 * ttl)
	again, err := w.confirm("SALE", "a")
	require.NoError(w, err)
	require.Equal(w, r, again)
	require.Equal(w, voucher.Repeated, w.reserveOne("SALE", 7, "a").Verdict)
	require.Equal(w, voucher.OutOfStock, w.reserveOne("SALE", 8, "b").Verdict)
	require.Zero(w, w.expire("SALE", "a"))
	require.Equal(w, held, w.row("SALE", "a"))
}

func endIsFinal(w *world) {
	w.voucher("SALE", 3, 3)
	w.hold("SALE", 1, "paid")
	w.hold("SALE", 1, "cancelled")
	w.hold("SALE", 1, "late")
	_, err := w.confirm("SALE", "paid")
	require.NoError(w, err)
	require.NoError(w, w.release("SALE", "cancelled"))
	w.Clock.Advance(ttl)
	// A confirm at the deadline releases.
	_, err = w.confirm("SALE", "late")
	require.ErrorIs(w, err, voucher.ErrReservationReleased.With(voucher.Expired))
	require.Equal(w, Start.Add(ttl), w.row("SALE", "late").ReleasedAt)
	before := w.book("SALE")

	w.Clock.Advance(time.Hour)
	require.ErrorIs(w, w.release("SALE", "paid"), voucher.ErrAlreadyConfirmed)
	_, err = w.confirm("SALE", "cancelled")
	require.ErrorIs(w, err, voucher.ErrReservationReleased.With(voucher.Cancelled))
	require.NoError(w, w.release("SALE", "cancelled"))
	require.NoError(w, w.release("SALE", "late"))
	require.ErrorIs(w, w.release("SALE", "never"), voucher.ErrReservationNotFound)
	_, err = w.confirm("SALE", "never")
	require.ErrorIs(w, err, voucher.ErrReservationNotFound)
	require.Zero(w, w.expire("SALE", "paid", "cancelled", "late", "never"))
	after := w.book("SALE")
	require.Equal(w, before.history, after.history)
	require.Equal(w, before.reservations, after.reservations)
	require.EqualValues(w, 1, after.voucher.Used())
}

func condition(w *world) {
	w.voucher("SALE", 1, 1)
	old := w.hold("SALE", 1, "a").Record().Version
	require.NoError(w, w.release("SALE", "a"))
	now := w.hold("SALE", 1, "a").Record().Version
	end := func(v ...voucher.Version) (err error) {
		w.step("SALE", []voucher.OrderID{"a"}, func(s *voucher.State, at time.Time) {
			err = s.Release("a", voucher.Condition{Given: true, Versions: v}, actor, at)
		})
		return err
	}
	require.ErrorIs(w, end(), voucher.ErrPrecondition)
	require.ErrorIs(w, end(old), voucher.ErrPrecondition)
	require.Equal(w, voucher.Reserved, w.row("SALE", "a").Status)
	require.NoError(w, end(old, now))
	require.Equal(w, voucher.Released, w.row("SALE", "a").Status)
}

func expiry(w *world) {
	w.voucher("SALE", 3, 3)
	w.hold("SALE", 1, "a")
	w.Clock.Advance(time.Minute)
	w.hold("SALE", 1, "b")
	w.Clock.Advance(ttl - time.Minute - time.Millisecond)
	require.Zero(w, w.expire("SALE", "a", "b"))
	w.Clock.Advance(time.Millisecond)
	require.Equal(w, 1, w.expire("SALE", "a", "b", "never"))
	require.Zero(w, w.expire("SALE", "a", "b"))
	got := w.row("SALE", "a")
	require.Equal(w, voucher.Released, got.Status)
	require.Equal(w, voucher.Expired, got.ReleaseReason)
	require.Equal(w, got.ExpiresAt, got.ReleasedAt)
	require.EqualValues(w, 1, w.stored("SALE").Used())
}

func overdueGivesWay(w *world) {
	w.voucher("SALE", 2, 1)
	w.hold("SALE", 1, "a")
	w.hold("SALE", 2, "b")
	_, err := w.confirm("SALE", "b")
	require.NoError(w, err)
	require.Equal(w, voucher.OutOfStock, w.reserveOne("SALE", 3, "c").Verdict)
	w.Clock.Advance(ttl)
	w.hold("SALE", 3, "c")
	require.Equal(w, voucher.Expired, w.row("SALE", "a").ReleaseReason)
	require.Equal(w, voucher.OutOfStock, w.reserveOne("SALE", 4, "d").Verdict)
	// The same for a customer's own limit.
	w.voucher("EACH", 100, 1)
	w.hold("EACH", 1, "e")
	require.Equal(w, voucher.LimitReached, w.reserveOne("EACH", 1, "f").Verdict)
	w.Clock.Advance(ttl)
	w.hold("EACH", 1, "f")
}

func overdueRepeat(w *world) {
	w.voucher("SALE", 1, 1)
	first := w.hold("SALE", 1, "a").Record()
	w.Clock.Advance(ttl + time.Second)
	second := w.hold("SALE", 1, "a").Record()
	require.Equal(w, 1, second.Version.Compare(first.Version))
	require.Equal(w, second, w.row("SALE", "a"))
	h := w.book("SALE").history
	require.Len(w, h, 4)
	require.Equal(w, voucher.ReservationReleased, h[2].Kind)
	require.Equal(w, first.Version, h[2].Version)
	require.Equal(w, second.Version, h[3].Version)
}

func overdueAmend(w *world) {
	w.voucher("SALE", 3, 3)
	w.hold("SALE", 1, "a")
	w.hold("SALE", 1, "b")
	w.Clock.Advance(time.Minute)
	w.hold("SALE", 1, "c")
	w.Clock.Advance(ttl - time.Minute)
	require.NoError(w, w.amend(voucher.Amendment{TotalLimit: new(int64(1))}))
	require.EqualValues(w, 1, w.stored("SALE").Used())
	require.Equal(w, voucher.Reserved, w.row("SALE", "c").Status)
}

func elsewhere(w *world) {
	w.voucher("HERE", 5, 5)
	w.voucher("THERE", 5, 5)
	w.hold("THERE", 1, "a")
	require.Equal(w, voucher.Conflict, w.reserveOne("HERE", 1, "a").Verdict)
	_, err := w.confirm("THERE", "a")
	require.NoError(w, err)
	w.Clock.Advance(ttl)
	require.Equal(w, voucher.Conflict, w.reserveOne("HERE", 1, "a").Verdict)
	require.EqualValues(w, 0, w.stored("HERE").Used())
	_, err = w.Reader.Reservation(w.Context(), "HERE", "a")
	require.ErrorIs(w, err, voucher.ErrReservationNotFound)
}

func blocked(w *world) {
	w.voucher("HERE", 5, 5)
	w.voucher("THERE", 5, 5)
	there := w.hold("THERE", 1, "a")
	w.Clock.Advance(ttl)
	out := w.reserveOne("HERE", 2, "a")
	require.Equal(w, voucher.Blocked, out.Verdict)
	require.Equal(w, there, out.Blocker)
	require.Equal(w, 1, w.expire("THERE", "a"))
	w.hold("HERE", 2, "a")
}

func releasedElsewhere(w *world) {
	w.voucher("HERE", 5, 5)
	w.voucher("THERE", 5, 5)
	w.hold("THERE", 1, "a")
	require.NoError(w, w.release("THERE", "a"))
	w.hold("HERE", 1, "a")
	require.Equal(w, voucher.Conflict, w.reserveOne("THERE", 1, "a").Verdict)
	require.Equal(w, voucher.Released, w.row("THERE", "a").Status)
	require.Equal(w, voucher.Reserved, w.row("HERE", "a").Status)
}

func amendAll(w *world) {
	before := w.voucher("SALE", 10, 1)
	w.hold("SALE", 1, "a")
	w.Clock.Advance(time.Minute)
	starts, ends, mode := Start.Add(-2*time.Hour), Start.Add(2*time.Hour), voucher.FlashSync
	require.NoError(w, w.amend(voucher.Amendment{
		DiscountAmount: new(int64(1)), MinOrderAmount: new(int64(2)), TotalLimit: new(int64(1)), PerUserLimit: new(int64(4)),
		StartsAt: &starts, EndsAt: &ends, Paused: new(true), Mode: &mode,
	}))
	got := w.stored("SALE").Snapshot()
	require.Equal(w, voucher.Terms{
		DiscountAmount: 1, MinOrderAmount: 2, TotalLimit: 1, PerUserLimit: 4, StartsAt: starts, EndsAt: ends, Paused: true, Mode: mode,
	}, got.Terms)
	require.EqualValues(w, 1, got.Change)
	require.EqualValues(w, 1, got.Used)
	require.Equal(w, Start.Add(time.Minute), got.UpdatedAt)
	require.Equal(w, Start, got.CreatedAt)
	require.Greater(w, got.Epoch, before.Snapshot().Epoch)
	require.Zero(w, got.Sequence)
	// What exists stays as it was made, and can be ended.
	require.EqualValues(w, discount, w.row("SALE", "a").DiscountAmount)
	_, err := w.confirm("SALE", "a")
	require.NoError(w, err)
	h := w.book("SALE").history
	require.Equal(w, voucher.VoucherAmended, h[2].Kind)
	require.Equal(w, before.Terms(), *h[2].TermsBefore)
	require.Equal(w, got.Terms, *h[2].TermsAfter)
	require.Equal(w, voucher.Version{Epoch: got.Epoch, Sequence: 1}, h[2].Version)
}

func amendNothing(w *world) {
	before := w.voucher("SALE", 10, 1)
	w.Clock.Advance(time.Minute)
	require.NoError(w, w.amend(voucher.Amendment{}))
	require.NoError(w, w.amend(voucher.Amendment{TotalLimit: new(int64(10))}))
	require.Equal(w, before, w.stored("SALE"))
	require.Len(w, w.book("SALE").history, 1)
}

func amendRefused(w *world) {
	w.voucher("SALE", 2, 2)
	w.hold("SALE", 1, "a")
	w.hold("SALE", 1, "b")
	before := w.stored("SALE")
	require.ErrorIs(w, w.amend(voucher.Amendment{TotalLimit: new(int64(1)), DiscountAmount: new(int64(7))}), voucher.ErrLimitBelowUsed)
	require.Equal(w, before, w.stored("SALE"))
	require.NoError(w, w.amend(voucher.Amendment{TotalLimit: new(int64(3))}))
	w.hold("SALE", 2, "c")
	require.Equal(w, voucher.OutOfStock, w.reserveOne("SALE", 3, "d").Verdict)
}

func lowerPerUser(w *world) {
	w.voucher("SALE", 100, 3)
	for i := range 3 {
		w.hold("SALE", 1, orderID(i))
	}
	require.NoError(w, w.amend(voucher.Amendment{PerUserLimit: new(int64(1))}))
	require.EqualValues(w, 3, w.book("SALE").customers[1])
	require.Equal(w, voucher.LimitReached, w.reserveOne("SALE", 1, "x").Verdict)
	// The uses go back one by one under the limit that they were granted under.
	require.NoError(w, w.release("SALE", orderID(0)))
	_, err := w.confirm("SALE", orderID(1))
	require.NoError(w, err)
	require.Equal(w, voucher.LimitReached, w.reserveOne("SALE", 1, "x").Verdict)
	// One ends and another begins in one batch: three live uses became two, then one and a new one.
	w.Clock.Advance(ttl)
	require.Equal(w, voucher.LimitReached, w.reserveOne("SALE", 1, "x").Verdict)
	require.EqualValues(w, 1, w.book("SALE").customers[1])
	require.NoError(w, w.amend(voucher.Amendment{PerUserLimit: new(int64(2))}))
	w.hold("SALE", 1, "x")
}

func modeChange(w *world) {
	w.voucher("SALE", 10, 10)
	old := w.hold("SALE", 1, "a").Record().Version
	require.NoError(w, w.release("SALE", "a"))
	flash, standard := voucher.FlashAsync, voucher.Standard
	require.NoError(w, w.amend(voucher.Amendment{Mode: &flash}))
	require.NoError(w, w.amend(voucher.Amendment{Mode: &standard}))
	again := w.hold("SALE", 1, "a").Record().Version
	require.Equal(w, voucher.Version{Epoch: old.Epoch + 2, Sequence: 1}, again)
	require.Equal(w, again, w.row("SALE", "a").Version)
}

func stepsFollow(w *world) {
	w.voucher("SALE", 10, 10)
	for i := range 5 {
		require.EqualValues(w, i+1, w.hold("SALE", 1, orderID(i)).Record().Version.Sequence)
	}
	var seen voucher.Voucher
	w.step("SALE", nil, func(s *voucher.State, now time.Time) {
		seen = s.Voucher()
		require.Equal(w, w.Clock.Now(), now)
	})
	require.Equal(w, w.stored("SALE"), seen)
}

func endedContext(w *world) {
	w.voucher("SALE", 10, 10)
	ctx, cancel := contextThatEnded(w)
	defer cancel()
	var out []voucher.Outcome
	err := w.Ledger.Update(ctx, reserveStep("SALE", []voucher.Request{request(1, "a")}, &out))
	require.ErrorIs(w, err, port.ErrOverloaded)
	require.Empty(w, out)
	require.EqualValues(w, 0, w.stored("SALE").Used())
	v, err := voucher.New("NEW", w.stored("SALE").Terms(), Start)
	require.NoError(w, err)
	require.ErrorIs(w, w.Ledger.Create(ctx, v, actor), port.ErrOverloaded)
	vs, err := w.Reader.List(w.Context(), "", 10)
	require.NoError(w, err)
	require.Len(w, vs, 1)
	_, err = w.Reader.Vouchers(ctx, []voucher.Code{"SALE"})
	require.ErrorIs(w, err, port.ErrOverloaded)
	require.ErrorIs(w, w.Books.Read(ctx, "SALE", &book{}), port.ErrOverloaded)
}

func noChanges(w *world) {
	v := w.voucher("SALE", 10, 10)
	w.step("SALE", []voucher.OrderID{"a"}, func(*voucher.State, time.Time) {})
	require.Equal(w, v, w.stored("SALE"))
	require.Len(w, w.book("SALE").history, 1)
}

func copies(w *world) {
	w.voucher("SALE", 10, 10)
	reqs := []voucher.Request{request(1, "a"), request(2, "b")}
	out := w.reserve("SALE", reqs...)
	reqs[0], out[0] = voucher.Request{}, voucher.Outcome{}
	h := w.book("SALE").history
	h[0].TermsAfter.TotalLimit = 99
	h[1].After.Status = voucher.Released
	h[2] = voucher.Change{}
	again := w.book("SALE").history
	require.EqualValues(w, 10, again[0].TermsAfter.TotalLimit)
	require.Equal(w, voucher.Reserved, again[1].After.Status)
	require.Equal(w, voucher.ReservationMade, again[2].Kind)
	require.EqualValues(w, 1, w.row("SALE", "a").Customer)
}

func severalEnds(w *world) {
	w.voucher("SALE", 10, 10)
	ids := []voucher.OrderID{"z", "a", "m", "b"}
	for i, id := range ids {
		w.hold("SALE", voucher.CustomerID(i%2+1), id)
	}
	w.step("SALE", ids, func(s *voucher.State, now time.Time) {
		_, err := s.Confirm("z", voucher.Condition{}, actor, now)
		require.NoError(w, err)
		require.NoError(w, s.Release("a", voucher.Condition{}, actor, now))
		_, err = s.Confirm("m", voucher.Condition{}, actor, now)
		require.NoError(w, err)
		require.NoError(w, s.Release("b", voucher.Condition{}, actor, now))
	})
	b := w.book("SALE")
	require.EqualValues(w, 2, b.voucher.Used())
	require.Equal(w, map[voucher.CustomerID]int64{1: 2, 2: 0}, b.customers)
	for i, kind := range []voucher.ChangeKind{
		voucher.ReservationConfirmed, voucher.ReservationReleased, voucher.ReservationConfirmed, voucher.ReservationReleased,
	} {
		require.Equal(w, kind, b.history[5+i].Kind)
		require.Equal(w, ids[i], b.history[5+i].Order)
	}
}

func customersCome(w *world) {
	w.voucher("SALE", 10, 2)
	w.hold("SALE", 1, "a")
	w.hold("SALE", 1, "b")
	// The request names another customer than the loaded order's: the end of that one must find its count.
	w.Clock.Advance(ttl)
	out := w.reserve("SALE", request(2, "a"))
	require.Equal(w, voucher.Granted, out[0].Verdict)
	require.Equal(w, map[voucher.CustomerID]int64{1: 1, 2: 1}, w.book("SALE").customers)
}

func extremes(w *world) {
	w.voucher("SALE", 10, 10)
	id := voucher.OrderID("A" + "bcdefghijklmnopqrstuvwxyz0123456789._:-bcdefghijklmnopqrstuvwxyz"[:63])
	q := voucher.Request{Order: id, Customer: 1<<63 - 1, Amount: voucher.MaxAmount, TTL: time.Millisecond, Actor: `näme "x" \ 'y'`}
	r := w.reserve("SALE", q)[0].Reservation
	require.Equal(w, r.Record(), w.row("SALE", id))
	require.Equal(w, q.Actor, w.book("SALE").history[1].Actor)
	require.Equal(w, voucher.Granted, w.reserveOne("SALE", 1, "a"+id[1:]).Verdict, "ids are case-sensitive")
}
