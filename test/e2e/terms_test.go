package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestF28_EverySaveMovesTheDate(t *testing.T) {
	t.Parallel()
	st := open(t, 0, nil)
	u, err := url.Parse(st.url)
	require.NoError(t, err)
	name := strings.TrimPrefix(u.Path, "/")
	st.exec(`ALTER DATABASE ` + pgx.Identifier{name}.Sanitize() + ` SET timezone = 'Asia/Kathmandu'`)
	st.startAbroad("America/Los_Angeles")
	// Both lie in hours that a change of summer time makes twice or not at all somewhere.
	st.create("DATE", fields{"startsAt": "2021-03-14T02:30:00.123-08:00", "endsAt": "2098-11-02T01:30:00.4567+05:45"})
	first := st.voucher("DATE")
	require.Equal(t, "2021-03-14T10:30:00.123Z", first.StartsAt)
	require.Equal(t, "2098-11-01T19:45:00.456Z", first.EndsAt)
	for range 10 {
		v := st.voucher("DATE")
		require.Equal(t, first, v)
		st.must(ok, st.patch("DATE", fields{"startsAt": v.StartsAt, "endsAt": v.EndsAt}))
	}
	require.Equal(t, first, st.voucher("DATE"))
	a := st.must(created, st.reserve("DATE", st.newcomer()))
	require.WithinDuration(t, time.Now().Add(15*time.Minute), a.expiry(t), soon)
	st.sums("DATE")
}

func TestF29_OtherInstancesDontSeeTheEdit(t *testing.T) {
	t.Parallel()
	st := open(t, 3, nil)
	for code, edit := range map[string]struct {
		change  fields
		refusal string
	}{
		"PAUSED":  {fields{"paused": true}, paused},
		"ENDED":   {fields{"endsAt": "2021-01-01T00:00:00Z"}, ended},
		"MINIMUM": {fields{"minOrderAmount": amount + 1}, belowMinimum},
	} {
		st.create(code, fields{"totalLimit": 1_000_000})
		const clients = 30
		var sold, refused atomic.Int64
		var edited, enough atomic.Bool
		early := st.newcomer()
		first := st.must(created, st.reserve(code, early))
		done := make(chan struct{})
		go func() {
			defer close(done)
			gather(clients, func(i int) answer {
				for !enough.Load() && st.ctx.Err() == nil {
					mustRefuse := edited.Load()
					a := st.at(i%3).reserve(code, st.newcomer())
					switch a.String() {
					case created:
						sold.Add(1)
						if mustRefuse {
							st.fail("process %d granted a use after the edit: %s", i%3, a.body)
						}
					case edit.refusal:
						if mustRefuse {
							refused.Add(1)
						}
					default:
						st.fail("%s: %s", a, a.body)
					}
				}
				return answer{}
			})
		}()
		st.await("the sale runs", func() bool { return sold.Load() >= 100 })
		st.must(ok, st.at(0).patch(code, edit.change))
		edited.Store(true)
		st.await("everybody was refused", func() bool { return refused.Load() >= 10*clients })
		enough.Store(true)
		<-done
		for i := range st.procs {
			require.Equal(t, string(first.body), string(st.must(created, st.at(i).reserve(code, early)).body))
		}
		st.sums(code)
	}
}

func TestF30_ADiscountAboveThePrice(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("BIG", fields{"discountAmount": 5000, "totalLimit": 10})
	granted := func(amount int64) int64 {
		o := st.newcomer()
		o.amount = amount
		var body struct{ DiscountAmount int64 }
		st.must(created, st.reserve("BIG", o)).as(t, &body)
		return body.DiscountAmount
	}
	require.EqualValues(t, 3000, granted(3000))
	require.EqualValues(t, 1, granted(1))
	require.EqualValues(t, 5000, granted(1<<53-1))
	for _, wrong := range []int64{0, -1, 1 << 53} {
		o := st.newcomer()
		o.amount = wrong
		st.must("400 INVALID_REQUEST orderAmount", st.reserve("BIG", o))
	}
	for _, wrong := range []fields{{"discountAmount": -1}, {"discountAmount": 0}, {"minOrderAmount": -1}} {
		for field := range wrong {
			a := st.send(request{method: http.MethodPost, route: vouchersRoute, body: terms("WRONG", wrong)})
			require.Equal(t, "400 INVALID_REQUEST "+field, a.String())
		}
	}
	require.Zero(t, st.number(`SELECT count(*) FROM voucher_redemption WHERE discount_amount NOT BETWEEN 1 AND order_amount`))
	st.sums("BIG")
}

func TestF31_OneAmountShownAnotherOneCharged(t *testing.T) {
	t.Parallel()
	st := open(t, 2, nil)
	st.create("SHOWN", fields{"discountAmount": 5000})
	a := st.newcomer()
	a.amount = 3000
	var body struct{ DiscountAmount int64 }
	st.must(created, st.reserve("SHOWN", a)).as(t, &body)
	require.EqualValues(t, 3000, body.DiscountAmount)
	st.must(ok, st.patch("SHOWN", fields{"discountAmount": 100}))
	st.must(created, st.reserve("SHOWN", a)).as(t, &body)
	require.EqualValues(t, 3000, body.DiscountAmount)
	require.EqualValues(t, 3000, st.reservation("SHOWN", a.id).DiscountAmount)
	require.EqualValues(t, 3000, st.redemptions("SHOWN", 50, "")[0].DiscountAmount)
	require.Equal(t, 3000, st.number(`SELECT discount_amount FROM voucher_redemption`))
	st.must(ok, st.confirm("SHOWN", a.id)).as(t, &body)
	require.EqualValues(t, 3000, body.DiscountAmount)
	st.sums("SHOWN")
}

func TestF32_TheLimitIsChangedDuringTheSale(t *testing.T) {
	t.Parallel()
	st := open(t, 3, nil)
	unit := size(10, 100)
	st.create("LIMIT", fields{"totalLimit": 10 * unit})
	st.watch("LIMIT")
	sell := func(n int) tally {
		orders := st.newcomers(n)
		return workers(n, 50, func(i int) answer { return st.reserve("LIMIT", orders[i]) })
	}
	require.Equal(t, tally{created: 6 * unit}, sell(6*unit))

	before := st.voucher("LIMIT")
	st.must(limitBelowUsed, st.patch("LIMIT", fields{"totalLimit": 5 * unit, "discountAmount": 7}))
	require.Equal(t, before, st.voucher("LIMIT"))
	st.must(ok, st.patch("LIMIT", fields{"totalLimit": 6 * unit}))
	st.must(outOfStock, st.reserve("LIMIT", st.newcomer()))
	st.must(ok, st.at(1).patch("LIMIT", fields{"totalLimit": 20 * unit}))
	require.Equal(t, tally{created: 14 * unit, outOfStock: 16 * unit}, sell(30*unit))
	st.must("400 INVALID_REQUEST startsAt", st.patch("LIMIT", fields{"startsAt": "2099-06-01T00:00:00Z"}))
	st.sums("LIMIT")

	// Down and up, while uses are taken and given back.
	const rounds = 40
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		gather(20, func(int) answer {
			for !over.Load() && st.ctx.Err() == nil {
				o := st.newcomer()
				if a := st.reserve("LIMIT", o); a.String() == created {
					st.expect(gone, st.release("LIMIT", o.id))
				} else {
					st.expect(outOfStock, a)
				}
			}
			return answer{}
		})
	}()
	count := make(tally)
	for i := range rounds {
		limit := 20*unit + (i%4)*5
		a := st.at(i%3).patch("LIMIT", fields{"totalLimit": limit})
		count[a.String()]++
		if a.String() == ok {
			require.LessOrEqual(t, st.number(`SELECT used_count FROM voucher WHERE code = 'LIMIT'`), limit)
		}
	}
	over.Store(true)
	<-done
	require.Equal(t, rounds, count[ok]+count[limitBelowUsed], fmt.Sprint(count))
	st.sums("LIMIT")
}
