package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestF09_AnOrdersOwnHoldBlocksItsRetry(t *testing.T) {
	t.Parallel()
	st := open(t, 3, nil)
	st.create("HOLD", nil)
	a := st.newcomer()
	first := st.must(created, st.at(0).reserve("HOLD", a))
	again := func() {
		t.Helper()
		for i := range st.procs {
			require.Equal(t, string(first.body), string(st.must(created, st.at(i).reserve("HOLD", a)).body))
		}
	}
	again()
	for i := range st.procs {
		st.must(outOfStock, st.at(i).reserve("HOLD", st.newcomer()))
	}
	again()
	st.must(ok, st.patch("HOLD", fields{"paused": true}))
	st.must(paused, st.reserve("HOLD", st.newcomer()))
	again()
	st.must(ok, st.patch("HOLD", fields{"paused": false, "endsAt": "2021-01-01T00:00:00Z"}))
	st.must(ended, st.reserve("HOLD", st.newcomer()))
	again()
	require.EqualValues(t, 1, st.voucher("HOLD").UsedCount)
	st.sums("HOLD")
}

func TestF10_TwinsAndOneOfThemLoses(t *testing.T) {
	t.Parallel()
	st := open(t, 3, nil)
	st.create("TWIN", nil)
	a := st.newcomer()
	count := together(50, func(int) answer { return st.reserve("TWIN", a) })
	require.Equal(t, tally{created: 50}, count)
	require.Len(t, st.promises["TWIN"][a.id].bodies, 1)
	require.Equal(t, 1, st.number(`SELECT count(*) FROM voucher_redemption`))
	st.sums("TWIN")
}

func TestF11_TheTwinComesWhileTheFirstIsStillAtWork(t *testing.T) {
	t.Parallel()
	st := open(t, 0, nil)
	p, far := startProxy(t, st.url)
	for range 2 {
		st.start(settings{"DATABASE_URL": far})
	}
	st.create("LATE", nil)
	a := st.newcomer()
	p.slow(2 * time.Second)
	first := make(chan answer, 1)
	go func() { first <- st.reserveOnce("LATE", a) }()
	st.await("the first one is at work", func() bool { return p.delayed() > 0 })
	twins := gather(3, func(int) answer { return st.reserveOnce("LATE", a) })
	for _, got := range append(twins, <-first) {
		require.Contains(t, []int{http.StatusCreated, http.StatusServiceUnavailable}, got.status, "%s", got.body)
	}
	p.slow(0)
	count := together(4, func(int) answer { return st.reserve("LATE", a) })
	require.Equal(t, tally{created: 4}, count)
	require.Len(t, st.promises["LATE"][a.id].bodies, 1)
	require.Equal(t, 1, st.number(`SELECT count(*) FROM voucher_redemption`))
	require.EqualValues(t, 1, st.voucher("LATE").UsedCount)
	st.sums("LATE")
}

func TestF12_SameOrderIDOtherContent(t *testing.T) {
	t.Parallel()
	st := open(t, 2, nil)
	st.create("V", fields{"totalLimit": 10})
	st.create("W", fields{"totalLimit": 10})
	a := st.newcomer()
	otherCustomer, otherAmount := a, a
	otherCustomer.customer = a.customer + 100
	otherAmount.amount = a.amount + 1000
	first := st.must(created, st.reserve("V", a))
	clash := func() {
		t.Helper()
		st.must(orderConflict, st.reserve("V", otherCustomer))
		st.must(orderConflict, st.reserve("V", otherAmount))
		st.must(orderConflict, st.reserve("W", a))
		require.Equal(t, string(first.body), string(st.must(created, st.reserve("V", a)).body))
		require.Zero(t, st.voucher("W").UsedCount)
		require.EqualValues(t, 1, st.voucher("V").UsedCount)
	}
	clash()
	st.must(ok, st.confirm("V", a.id))
	clash()
	st.sums("V", "W")

	// Released, the id is free: for another customer and amount, and for another voucher.
	b := st.newcomer()
	swapped := b
	swapped.customer, swapped.amount = b.customer+100, b.amount+1000
	st.must(created, st.reserve("V", b))
	st.must(gone, st.release("V", b.id))
	st.must(created, st.reserve("V", swapped))
	require.Equal(t, swapped.customer, st.reservation("V", b.id).CustomerID)
	st.must(gone, st.release("V", b.id))
	st.must(created, st.reserve("W", b))
	st.must(orderConflict, st.reserve("V", b))
	st.sums("V", "W")
}

// TestF12_OneOrderOnTwoVouchersAtOnce lets the database's index of live orders decide.
func TestF12_OneOrderOnTwoVouchersAtOnce(t *testing.T) {
	t.Parallel()
	st := open(t, 3, nil)
	orders := st.newcomers(50)
	st.create("V", fields{"totalLimit": len(orders)})
	st.create("W", fields{"totalLimit": len(orders)})
	codes := []string{"V", "W"}
	count := together(2*len(orders), func(i int) answer { return st.reserve(codes[i%2], orders[i/2]) })
	require.Equal(t, tally{created: len(orders), orderConflict: len(orders)}, count)
	require.Equal(t, len(orders), st.number(`SELECT sum(used_count) FROM voucher`))
	st.sums("V", "W")
}

func TestF13_SecondConfirmRefusedBecauseTheFirstOneCounted(t *testing.T) {
	t.Parallel()
	st := open(t, 2, brief)
	st.create("PAID", nil)
	a := st.newcomer()
	first := st.must(created, st.reserve("PAID", a))
	confirmed := st.must(ok, st.confirm("PAID", a.id))
	require.Equal(t, string(confirmed.body), string(st.must(ok, st.confirm("PAID", a.id)).body))
	require.Equal(t, string(first.body), string(st.must(created, st.reserve("PAID", a)).body))
	require.EqualValues(t, 1, st.voucher("PAID").UsedCount)

	past(first.expiry(t))
	st.awaitExpiryRun()
	require.Equal(t, string(first.body), string(st.must(created, st.reserve("PAID", a)).body))
	require.Equal(t, string(confirmed.body), string(st.must(ok, st.confirm("PAID", a.id)).body))
	require.Equal(t, "CONFIRMED", st.reservation("PAID", a.id).Status)
	st.must(outOfStock, st.reserve("PAID", st.newcomer()))
	st.sums("PAID")
}

func TestF14_OnePurchaseCountedTwice(t *testing.T) {
	t.Parallel()
	st := open(t, 3, nil)
	st.create("ONCE", fields{"totalLimit": 2})
	a := st.newcomer()
	st.must(created, st.reserve("ONCE", a))
	answers := gather(50, func(int) answer { return st.confirm("ONCE", a.id) })
	for _, got := range answers {
		require.Equal(t, string(answers[0].body), string(st.must(ok, got).body))
	}
	require.EqualValues(t, 1, st.voucher("ONCE").UsedCount)
	require.Equal(t, 1, st.number(`SELECT count(*) FROM voucher_redemption`))
	require.Equal(t, 1, st.number(`SELECT count(*) FROM voucher_event WHERE kind = 'CONFIRMED'`))
	st.sums("ONCE")
}

func TestF17_CancelledResoldThenRevived(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("RESOLD", nil)
	a, b := st.newcomer(), st.newcomer()
	st.must(created, st.reserve("RESOLD", a))
	st.must(gone, st.release("RESOLD", a.id))
	st.must(created, st.reserve("RESOLD", b))
	st.must(ok, st.confirm("RESOLD", b.id))
	st.must(releasedCancelled, st.confirm("RESOLD", a.id))
	require.Equal(t, "CONFIRMED", st.reservation("RESOLD", b.id).Status)
	require.EqualValues(t, 1, st.voucher("RESOLD").UsedCount)
	st.sums("RESOLD")
}

func TestF18_ARefundGivesAPaidUseBack(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("REFUND", fields{"totalLimit": 2})
	a := st.by(7)
	st.must(created, st.reserve("REFUND", a))
	st.must(ok, st.confirm("REFUND", a.id))
	st.must(alreadyConfirmed, st.release("REFUND", a.id))
	st.must(alreadyConfirmed, st.release("REFUND", a.id))
	st.must(alreadyUsed, st.reserve("REFUND", st.by(7)))
	require.Equal(t, "CONFIRMED", st.reservation("REFUND", a.id).Status)
	require.EqualValues(t, 1, st.voucher("REFUND").UsedCount)
	st.sums("REFUND")
}

func TestF21_ReleasingAUseThatWasNeverCounted(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("FIVE", fields{"totalLimit": 5})
	st.create("OTHER", nil)
	other := st.newcomer()
	st.must(created, st.reserve("OTHER", other))
	count := workers(100, 10, func(int) answer { return st.release("FIVE", "unknown") })
	require.Equal(t, tally{noReservation: 100}, count)
	st.must(noReservation, st.release("FIVE", other.id))
	require.Zero(t, st.voucher("FIVE").UsedCount)
	require.Equal(t, "RESERVED", st.reservation("OTHER", other.id).Status)
	st.sums("FIVE", "OTHER")
}

func TestF22_AFailedRequestUsesUpACount(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("FAILED", fields{"minOrderAmount": amount})
	negative, small := st.newcomer(), st.newcomer()
	negative.amount, small.amount = -1, amount-1
	st.must("400 INVALID_REQUEST orderAmount", st.reserve("FAILED", negative))
	st.must(belowMinimum, st.reserve("FAILED", small))
	require.Zero(t, st.voucher("FAILED").UsedCount)
	require.Equal(t, 1, st.number(`SELECT count(*) FROM voucher_event`))
	st.must(created, st.reserve("FAILED", st.newcomer()))
	st.sums("FAILED")
}

func TestF23_SwitchedOffBetweenHoldAndPayment(t *testing.T) {
	t.Parallel()
	st := open(t, 2, nil)
	for code, off := range map[string]struct {
		change  fields
		refusal string
	}{
		"PAUSED": {fields{"paused": true, "discountAmount": 1}, paused},
		"ENDED":  {fields{"endsAt": "2021-01-01T00:00:00Z", "discountAmount": 1}, ended},
	} {
		st.create(code, fields{"totalLimit": 5})
		a := st.newcomer()
		st.must(created, st.reserve(code, a))
		st.must(ok, st.patch(code, off.change))
		var body struct{ DiscountAmount int64 }
		st.must(ok, st.confirm(code, a.id)).as(t, &body)
		require.EqualValues(t, discount, body.DiscountAmount)
		st.must(off.refusal, st.reserve(code, st.newcomer()))
		st.sums(code)
	}
}

// TestTheVersionIsTheETag: a shop that names the version it means can't end another one by mistake.
func TestTheVersionIsTheETag(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("TAG", nil)
	a := st.newcomer()
	first := st.must(created, st.reserve("TAG", a)).header.Get("ETag")
	require.NotEmpty(t, first)
	st.must(gone, st.release("TAG", a.id))
	second := st.must(created, st.reserve("TAG", a)).header.Get("ETag")
	require.NotEqual(t, first, second)
	end := func(method, route, tag string) answer {
		return st.insist(request{method: method, route: route, code: "TAG", order: a.id, header: map[string]string{"If-Match": tag}})
	}
	st.must("412 PRECONDITION_FAILED", end(http.MethodPost, confirmRoute, first))
	st.must("412 PRECONDITION_FAILED", end(http.MethodDelete, reservationRoute, first))
	require.Equal(t, second, st.must(ok, end(http.MethodPost, confirmRoute, second)).header.Get("ETag"))
	require.Equal(t, second, st.find("TAG", a.id).header.Get("ETag"))
	st.must(alreadyConfirmed, end(http.MethodDelete, reservationRoute, "*"))
	st.sums("TAG")
}
