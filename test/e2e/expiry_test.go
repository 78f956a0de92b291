package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// awaitExpiryRun waits until the job has looked once more: a reservation that was due before is ended then. A voucher
// of its own is the canary.
func (st *stage) awaitExpiryRun() {
	st.t.Helper()
	canary := st.newcomer()
	st.create("CANARY-"+canary.id[len("order-"):], nil)
	code := "CANARY-" + canary.id[len("order-"):]
	st.must(created, st.reserve(code, canary))
	st.awaitReleased(code, canary.id)
}

// awaitReleased waits until the order's row says so: a look through the API would not tell whether a job has run.
func (st *stage) awaitReleased(code, id string) {
	st.t.Helper()
	st.await(id+" of "+code+" is released", func() bool { return st.status(code, id) == "RELEASED" })
}

func TestF15_AnAbandonedOrderLeavesTheCodeUsedUp(t *testing.T) {
	t.Parallel()
	st := open(t, 2, brief)
	for _, reason := range []string{"CANCELLED", "EXPIRED"} {
		st.create(reason, nil)
		a, b := st.by(7), st.by(7)
		st.must(created, st.reserve(reason, a))
		if reason == "CANCELLED" {
			st.must(gone, st.release(reason, a.id))
		} else {
			st.awaitReleased(reason, a.id)
		}
		require.Zero(t, st.number(`SELECT used_count FROM voucher WHERE code = $1`, reason))
		require.Zero(t, st.number(`SELECT coalesce(sum(uses), 0) FROM voucher_customer WHERE voucher_code = $1`, reason))
		st.must(created, st.reserve(reason, b))
		r := st.reservation(reason, a.id)
		require.Equal(t, "RELEASED", r.Status)
		require.Equal(t, reason, r.ReleaseReason)
	}
	st.sums("CANCELLED", "EXPIRED")
}

func TestF19_ThePaymentLandsAfterTheHoldRanOut(t *testing.T) {
	t.Parallel()
	t.Run("the job has run", func(t *testing.T) {
		st := open(t, 2, brief)
		st.create("LATE", nil)
		a, b := st.newcomer(), st.newcomer()
		st.must(created, st.reserve("LATE", a))
		st.awaitReleased("LATE", a.id)
		st.must(created, st.reserve("LATE", b))
		st.must(ok, st.confirm("LATE", b.id))
		st.must(releasedExpired, st.confirm("LATE", a.id))
		require.EqualValues(t, 1, st.voucher("LATE").UsedCount)
		st.sums("LATE")
	})
	t.Run("no job runs", func(t *testing.T) {
		st := open(t, 2, brief.with(apiOnly))
		st.create("LATE", nil)
		a, b := st.newcomer(), st.newcomer()
		deadline := st.must(created, st.reserve("LATE", a)).expiry(t)
		past(deadline)
		require.Equal(t, "RESERVED", st.status("LATE", a.id))
		r := st.reservation("LATE", a.id) // seen as what it is, whatever is stored
		require.Equal(t, []string{"RELEASED", "EXPIRED", r.ExpiresAt}, []string{r.Status, r.ReleaseReason, r.ReleasedAt})
		st.must(releasedExpired, st.confirm("LATE", a.id))
		require.Equal(t, "RELEASED", st.status("LATE", a.id))
		st.must(created, st.reserve("LATE", b))
		st.must(ok, st.confirm("LATE", b.id))
		st.must(releasedExpired, st.confirm("LATE", a.id))
		require.EqualValues(t, 1, st.voucher("LATE").UsedCount)
		st.sums("LATE")
	})
}

func TestF20_CancellingWhatHasAlreadyExpired(t *testing.T) {
	t.Parallel()
	st := open(t, 2, brief)
	st.create("GONE", nil)
	a, b := st.newcomer(), st.newcomer()
	st.must(created, st.reserve("GONE", a))
	st.awaitReleased("GONE", a.id)
	before := st.reservation("GONE", a.id)
	st.must(created, st.reserve("GONE", b))
	st.must(ok, st.confirm("GONE", b.id))
	for range 3 {
		st.must(gone, st.release("GONE", a.id))
	}
	require.Equal(t, before, st.reservation("GONE", a.id))
	require.Equal(t, "EXPIRED", before.ReleaseReason)
	require.EqualValues(t, 1, st.voucher("GONE").UsedCount)
	st.must(outOfStock, st.reserve("GONE", st.newcomer()))
	st.sums("GONE")
}

// TestAnAbandonedUseIsFreeAtItsDeadline: nobody has to wait for the job.
func TestAnAbandonedUseIsFreeAtItsDeadline(t *testing.T) {
	t.Parallel()
	st := open(t, 2, settings{"RESERVATION_TTL": "1s", "ROLES": "api"})
	st.create("FREE", nil)
	a := st.newcomer()
	first := st.must(created, st.reserve("FREE", a))
	past(first.expiry(t))
	again := st.must(created, st.reserve("FREE", a)) // the same order, a new reservation
	require.True(t, again.expiry(t).After(first.expiry(t)))
	past(again.expiry(t))
	st.must(created, st.reserve("FREE", st.newcomer()))
	st.sums("FREE")
}

// TestTwoThousandReachTheirDeadline lets three processes expire them while clients confirm and release them, a little
// before, at and a little after the deadline of each: each ends once, and what was given back can be had at once.
func TestTwoThousandReachTheirDeadline(t *testing.T) {
	t.Parallel()
	const uses, step = 2000, 100 * time.Millisecond
	st := open(t, 3, settings{"RESERVATION_TTL": "6s", "JOBS_EXPIRE_INTERVAL": "1s"})
	st.create("DUE", fields{"totalLimit": uses})
	st.watch("DUE")
	orders, deadlines := st.newcomers(uses), make([]time.Time, uses)
	require.Equal(t, tally{created: uses}, workers(uses, 200, func(i int) answer {
		a := st.reserve("DUE", orders[i])
		deadlines[i] = a.deadline()
		return a
	}))
	count := together(uses, func(i int) answer {
		past(deadlines[i].Add(step * time.Duration(i%20-15)))
		if i%4 < 2 {
			return st.confirmThenRelease("DUE", orders[i].id)
		}
		return st.releaseThenConfirm("DUE", orders[i].id)
	})
	confirmed, cancelled, expired := count[ok], count[releasedCancelled], count[releasedExpired]
	t.Logf("%d confirmed, %d cancelled, %d expired", confirmed, cancelled, expired)
	require.Equal(t, uses, confirmed+cancelled+expired, "%v", count)
	require.True(t, confirmed > 0 && cancelled > 0 && expired > 0)
	st.sums("DUE")
	require.EqualValues(t, confirmed, st.voucher("DUE").UsedCount)
	for kind, want := range map[string]int{"CONFIRMED": confirmed, "RELEASED": cancelled + expired} {
		require.Equal(t, want, st.number(`SELECT count(*) FROM voucher_event WHERE kind = $1`, kind))
	}
	free := uses - confirmed
	next := st.newcomers(free + 10)
	st.start(nil) // holds for long, so that nothing comes free meanwhile
	patient := st.at(3)
	count = workers(len(next), 200, func(i int) answer { return patient.reserve("DUE", next[i]) })
	require.Equal(t, tally{created: free, outOfStock: 10}, count)
	st.sums("DUE")
}

// confirmThenRelease returns the first answer, which the second one must fit.
func (s *shop) confirmThenRelease(code, id string) answer {
	a := s.confirm(code, id)
	if a.String() == ok {
		s.expect(alreadyConfirmed, s.release(code, id))
	} else {
		s.expect(releasedExpired, a)
		s.expect(gone, s.release(code, id))
	}
	return a
}

// releaseThenConfirm returns the second answer, which tells how the reservation ended.
func (s *shop) releaseThenConfirm(code, id string) answer {
	s.expect(gone, s.release(code, id))
	return s.confirm(code, id)
}

// expect is must for any goroutine.
func (s *shop) expect(want string, a answer) {
	if a.String() != want {
		s.fail("answered %s %s instead of %s", a, a.body, want)
	}
}
