package e2e_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTwoHundredCustomersOnTenUses is the case that the service was asked for.
func TestTwoHundredCustomersOnTenUses(t *testing.T) {
	t.Parallel()
	st := open(t, 3, nil)
	st.create("SEED", fields{"totalLimit": 10})
	stop := st.watch("SEED")
	orders := st.newcomers(200)
	count := together(len(orders), func(i int) answer { return st.reserve("SEED", orders[i]) })
	require.Equal(t, tally{created: 10, outOfStock: 190}, count)
	require.LessOrEqual(t, stop().maxUsed, 10)
	require.EqualValues(t, 10, st.voucher("SEED").UsedCount)
	st.sums("SEED")
}

func TestTwoHundredOrdersOfOneCustomer(t *testing.T) {
	t.Parallel()
	st := open(t, 3, nil)
	for limit := 1; limit <= 3; limit++ {
		code := fmt.Sprintf("MINE-%d", limit)
		st.create(code, fields{"totalLimit": 1000, "perUserLimit": limit})
		orders := make([]order, 200)
		for i := range orders {
			orders[i] = st.by(7)
		}
		count := together(len(orders), func(i int) answer { return st.reserve(code, orders[i]) })
		require.Equal(t, tally{created: limit, alreadyUsed: 200 - limit}, count)
		require.EqualValues(t, limit, st.voucher(code).UsedCount)
		require.Equal(t, limit, st.number(`SELECT uses FROM voucher_customer WHERE voucher_code = $1 AND customer_id = 7`, code))
		st.sums(code)
	}
}

// TestEveryOrderFiveTimes sends every order five times at once, again and again while the voucher's life goes on.
func TestEveryOrderFiveTimes(t *testing.T) {
	t.Parallel()
	const times, uses = 5, 20
	st := open(t, 3, nil)
	st.create("TWINS", fields{"totalLimit": uses})
	orders := st.newcomers(2 * uses)
	bodies := make(map[string]string) // of each winner, the first
	again := func(orders []order, want tally) {
		t.Helper()
		answers := gather(times*len(orders), func(i int) answer { return st.reserve("TWINS", orders[i%len(orders)]) })
		count := make(tally)
		for i, a := range answers {
			count[a.String()]++
			if a.String() != created {
				continue
			}
			id := orders[i%len(orders)].id
			if bodies[id] == "" {
				bodies[id] = string(a.body)
			}
			require.Equal(t, bodies[id], string(a.body))
		}
		require.Equal(t, want, count)
	}
	again(orders[:uses/2], tally{created: times * uses / 2})
	again(orders, tally{created: times * uses, outOfStock: times * uses}) // it sells out meanwhile
	winners, losers := st.won("TWINS", orders)
	require.Len(t, winners, uses)
	again(losers, tally{outOfStock: times * uses})

	st.must(ok, st.patch("TWINS", fields{"paused": true}))
	again(winners, tally{created: times * uses})
	again(losers, tally{paused: times * uses})
	st.must(ok, st.patch("TWINS", fields{"paused": false, "endsAt": "2021-01-01T00:00:00Z"}))
	again(winners, tally{created: times * uses})
	again(losers, tally{ended: times * uses})
	st.must(ok, st.patch("TWINS", fields{"discountAmount": 1, "minOrderAmount": amount + 1, "endsAt": "2099-01-01T00:00:00Z"}))
	again(winners, tally{created: times * uses})
	count := together(uses, func(i int) answer { return st.confirm("TWINS", winners[i].id) })
	require.Equal(t, tally{ok: uses}, count)
	again(winners, tally{created: times * uses})
	require.EqualValues(t, uses, st.voucher("TWINS").UsedCount)
	st.sums("TWINS")
}
