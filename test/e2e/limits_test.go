package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestF01_OneUseFiveHundredBuyers(t *testing.T) {
	t.Parallel()
	const buyers = 500
	sell := func(st *stage) {
		st.create("ONE", nil)
		st.watch("ONE")
		orders := st.newcomers(buyers)
		count := together(buyers, func(i int) answer { return st.reserve("ONE", orders[i]) })
		require.Equal(t, tally{created: 1, outOfStock: buyers - 1}, count)
		require.EqualValues(t, 1, st.voucher("ONE").UsedCount)
		st.sums("ONE")
	}
	t.Run("at hand", func(*testing.T) { sell(open(t, 3, nil)) })
	t.Run("far from its database", func(*testing.T) {
		st := open(t, 0, nil)
		p, far := startProxy(t, st.url)
		for range 3 {
			st.start(settings{"DATABASE_URL": far})
		}
		p.slow(100 * time.Millisecond)
		sell(st)
	})
}

func TestF02_ReadCompareWriteLater(t *testing.T) {
	t.Parallel()
	st := open(t, 3, nil)
	st.create("TEN", fields{"totalLimit": 10})
	for _, o := range st.newcomers(9) {
		st.must(created, st.reserve("TEN", o))
		st.must(ok, st.confirm("TEN", o.id))
	}
	stop := st.watch("TEN")
	orders := st.newcomers(50)
	count := together(len(orders), func(i int) answer { return st.reserve("TEN", orders[i]) })
	require.Equal(t, tally{created: 1, outOfStock: 49}, count)
	require.LessOrEqual(t, stop().maxUsed, 10)
	require.EqualValues(t, 10, st.voucher("TEN").UsedCount)
	st.sums("TEN")
}

func TestF04_TheConditionFailedAndNobodyLooked(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("V", nil)
	st.create("W", fields{"totalLimit": 10})
	st.must(created, st.reserve("V", st.newcomer()))
	st.must(created, st.reserve("W", st.by(7)))
	events := st.number(`SELECT count(*) FROM voucher_event`)

	newcomer, again := st.newcomer(), st.by(7)
	st.must(outOfStock, st.reserve("V", newcomer))
	st.must(alreadyUsed, st.reserve("W", again))

	require.Empty(t, st.status("V", newcomer.id))
	require.Empty(t, st.status("W", again.id))
	require.Zero(t, st.number(`SELECT count(*) FROM voucher_customer WHERE voucher_code = 'V' AND customer_id = $1`, newcomer.customer))
	require.EqualValues(t, 1, st.voucher("V").UsedCount)
	require.EqualValues(t, 1, st.voucher("W").UsedCount)
	require.Equal(t, events, st.number(`SELECT count(*) FROM voucher_event`))
	st.sums("V", "W")
}

func TestF05_CheckedInTheCartNotAtPayment(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("V", nil)
	st.create("W", nil)
	a := st.newcomer()
	st.must(created, st.reserve("V", a))
	st.must(noReservation, st.confirm("V", "never-reserved"))
	st.must(noReservation, st.confirm("W", a.id))
	require.Equal(t, "RESERVED", st.reservation("V", a.id).Status)
	require.Empty(t, st.status("V", "never-reserved"))
	require.Zero(t, st.voucher("W").UsedCount)
	st.sums("V", "W")
}

func TestF08_LimitNGivesN(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	const customer = 7
	st.create("OTHER-1", nil)
	st.create("OTHER-2", nil)
	st.must(created, st.reserve("OTHER-1", st.by(customer)))
	st.must(created, st.reserve("OTHER-2", st.by(customer)))
	for n := 1; n <= 3; n++ {
		total, mine := fmt.Sprintf("TOTAL-%d", n), fmt.Sprintf("MINE-%d", n)
		st.create(total, fields{"totalLimit": n})
		for range n {
			st.must(created, st.reserve(total, st.newcomer()))
		}
		st.must(outOfStock, st.reserve(total, st.newcomer()))

		st.create(mine, fields{"totalLimit": 100, "perUserLimit": n})
		for range 2 {
			o := st.by(customer)
			st.must(created, st.reserve(mine, o))
			st.must(gone, st.release(mine, o.id))
		}
		for range n {
			st.must(created, st.reserve(mine, st.by(customer)))
		}
		st.must(alreadyUsed, st.reserve(mine, st.by(customer)))
		st.sums(total, mine)
	}
}

func TestF24_OneCustomerManyOrdersAtOnce(t *testing.T) {
	t.Parallel()
	st := open(t, 3, nil)
	const customer, orders = 7, 200
	for _, limit := range []int{1, 3} {
		code := fmt.Sprintf("LIMIT-%d", limit)
		st.create(code, fields{"totalLimit": 1000, "perUserLimit": limit})
		st.watch(code)
		count := together(orders, func(int) answer { return st.reserve(code, st.by(customer)) })
		require.Equal(t, tally{created: limit, alreadyUsed: orders - limit}, count)
		require.Equal(t, limit, st.number(`SELECT uses FROM voucher_customer WHERE voucher_code = $1`, code))
		st.sums(code)
	}
}

func TestF25_AGuestHasNoIDSoNoLimit(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("GUEST", fields{"totalLimit": 100})
	for _, customer := range []string{"", `"customerId":null,`, `"customerId":"",`, `"customerId":"  ",`, `"customerId":0,`, `"customerId":-1,`} {
		a := st.send(request{
			method: http.MethodPost, route: reservationsRoute, code: "GUEST",
			body: `{` + customer + `"orderId":"guest","orderAmount":5000}`,
		})
		require.Equal(t, "400 INVALID_REQUEST customerId", a.String(), customer)
	}
	require.Zero(t, st.number(`SELECT count(*) FROM voucher_customer`))
	require.Zero(t, st.number(`SELECT count(*) FROM voucher_redemption`))
	st.sums("GUEST")
}

func TestF26_AMissingPartCrashesTheRuleThatReadsIt(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	plain, even := terms("PLAIN", nil), terms("EVEN", fields{"totalLimit": 2, "perUserLimit": 2})
	st.must(created, st.send(request{method: http.MethodPost, route: vouchersRoute, body: plain}))
	st.must(created, st.send(request{method: http.MethodPost, route: vouchersRoute, body: even}))
	for body, field := range map[string]string{
		`{"orderId":"o","orderAmount":5000}`:   "customerId",
		`{"customerId":7,"orderAmount":5000}`:  "orderId",
		`{"customerId":7,"orderId":"o"}`:       "orderAmount",
		`{}`:                                   "customerId",
		`null`:                                 "body",
		`[]`:                                   "body",
		``:                                     "body",
		`{"customerId":7,"orderId":"o"} extra`: "body",
	} {
		a := st.send(request{method: http.MethodPost, route: reservationsRoute, code: "PLAIN", body: body})
		require.Equal(t, "400 INVALID_REQUEST "+field, a.String(), body)
	}
	v := st.voucher("PLAIN")
	require.Zero(t, v.MinOrderAmount)
	require.EqualValues(t, 1, v.PerUserLimit)
	require.Equal(t, "standard", v.EffectiveMode)
	st.must(created, st.reserve("PLAIN", st.newcomer()))
	st.must(created, st.reserve("EVEN", st.by(7)))
	st.must(created, st.reserve("EVEN", st.by(7)))
	st.must(alreadyUsed, st.reserve("EVEN", st.by(7)))
	st.sums("PLAIN", "EVEN")
}

func TestF27_OneClickerEmptiesTheStock(t *testing.T) {
	t.Parallel()
	st := open(t, 3, nil)
	clicks := size(2000, 10_000)
	st.create("CLICK", fields{"totalLimit": 1000})
	stop := st.watch("CLICK")
	count := workers(clicks, 100, func(int) answer { return st.reserve("CLICK", st.by(7)) })
	require.Equal(t, tally{created: 1, alreadyUsed: clicks - 1}, count)
	require.LessOrEqual(t, stop().maxUsed, 1)
	require.EqualValues(t, 1, st.voucher("CLICK").UsedCount)
	st.sums("CLICK")
}
