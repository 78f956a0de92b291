package fault_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// till is a shop with one process, whose COMMITs can be made to fail, and one voucher.
type till struct {
	*shop
	proxy  *proxy
	client *http.Client
	code   string
}

func openTill(t *testing.T) *till {
	t.Helper()
	s := openShop(t, 0, nil)
	p, through := startProxy(t, s.url)
	s.nodes = []*node{startNode(t, through, nil)}
	tl := &till{shop: s, proxy: p, client: newClient(), code: "TILL"}
	t.Cleanup(tl.client.CloseIdleConnections)
	s.create(t, tl.client, tl.code, totalLimit)
	return tl
}

func (tl *till) send(c call) answer { return c.send(tl.client, tl.nodes, 0) }

func (tl *till) used(t *testing.T) int {
	t.Helper()
	return tl.count(t, `SELECT used_count FROM voucher WHERE code = $1`, tl.code)
}

// rows counts the order's rows in a status.
func (tl *till) rows(t *testing.T, o *order, status string) int {
	t.Helper()
	return tl.count(t, `SELECT count(*) FROM voucher_redemption WHERE order_id = $1 AND status = $2`, o.id, status)
}

// granted holds a 201 against the stored row, which must be the order's only use.
func (tl *till) granted(t *testing.T, a answer, o *order) {
	t.Helper()
	require.Equal(t, http.StatusCreated, a.status, a)
	require.Equal(t, 1, tl.rows(t, o, "RESERVED"))
	require.Equal(t, 1, tl.count(t, `SELECT count(*) FROM voucher_redemption WHERE order_id = $1
		AND $2::jsonb ->> 'orderId' = order_id AND ($2::jsonb ->> 'discountAmount')::bigint = discount_amount
		AND ($2::jsonb ->> 'expiresAt')::timestamptz = expires_at`, o.id, a.body), a)
}

func requireUnknown(t *testing.T, a answer) {
	t.Helper()
	require.Empty(t, a.complaint(), a)
	require.Equal(t, http.StatusServiceUnavailable, a.status, a)
	require.Equal(t, "OUTCOME_UNKNOWN", a.reason, a)
}

var (
	answerLost = fate{arrives: true, cut: true}
	commitLost = fate{cut: true}
	afterwards = fate{arrives: true} // silence
	before     = fate{}
)

// TestAnUnknownCommit: the connection ends between COMMIT and its answer. The client is told that the outcome is
// unknown, and the same request again finds what happened.
func TestAnUnknownCommit(t *testing.T) {
	tl := openTill(t)
	uses := 0
	for name, f := range map[string]fate{"its answer is lost": answerLost, "it is lost": commitLost} {
		t.Run(name, func(t *testing.T) {
			stored := 0
			if f.arrives {
				stored = 1
			}
			o := &order{id: "one-" + strings.ReplaceAll(name, " ", "-"), customer: int64(1 + uses), amount: 700}
			tl.proxy.strike(f)
			requireUnknown(t, tl.send(reserveCall(tl.code, o)))
			require.Equal(t, stored, tl.rows(t, o, "RESERVED"))
			first := tl.send(reserveCall(tl.code, o))
			tl.granted(t, first, o)
			require.Equal(t, first.body, tl.send(reserveCall(tl.code, o)).body)
			uses++
			require.Equal(t, uses, tl.used(t))

			tl.proxy.strike(f)
			requireUnknown(t, tl.send(confirmCall(tl.code, o)))
			require.Equal(t, stored, tl.rows(t, o, "CONFIRMED"))
			require.Equal(t, http.StatusOK, tl.send(confirmCall(tl.code, o)).status)

			o = &order{id: o.id + "-released", customer: o.customer + 100, amount: 700}
			tl.granted(t, tl.send(reserveCall(tl.code, o)), o)
			tl.proxy.strike(f)
			requireUnknown(t, tl.send(releaseCall(tl.code, o)))
			require.Equal(t, stored, tl.rows(t, o, "RELEASED"))
			require.Equal(t, http.StatusNoContent, tl.send(releaseCall(tl.code, o)).status)
			require.Equal(t, uses, tl.used(t))

			newVoucher := call{verb: aside, method: http.MethodPost, path: "/vouchers", body: voucherBody(fmt.Sprintf("NEW-%d", uses), 1)}
			tl.proxy.strike(f)
			requireUnknown(t, tl.send(newVoucher))
			want := map[bool]int{true: http.StatusConflict, false: http.StatusCreated}
			require.Equal(t, want[f.arrives], tl.send(newVoucher).status)
			change := call{verb: aside, method: http.MethodPatch, path: "/vouchers/" + tl.code, body: fmt.Sprintf(`{"minOrderAmount":%d}`, uses)}
			tl.proxy.strike(f)
			requireUnknown(t, tl.send(change))
			require.Equal(t, http.StatusOK, tl.send(change).status)
		})
	}
	t.Run("of many orders at once", func(t *testing.T) { tl.unknownBatches(t, uses) })
	tl.audit(t, tl.code)
}

// unknownBatches strikes COMMITs, early or late, while a crowd reserves.
func (tl *till) unknownBatches(t *testing.T, uses int) {
	t.Helper()
	const crowd, strikes = 40, 6
	for i := range strikes {
		tl.proxy.strike(fate{arrives: i%2 == 0, cut: true})
	}
	var all sync.WaitGroup
	lasts, unknown := make([]answer, crowd), make([]int, crowd)
	orders := make([]*order, crowd)
	for i := range crowd {
		orders[i] = &order{id: fmt.Sprintf("many-%d", i), customer: int64(1000 + i), amount: 700}
		all.Go(func() {
			for range strikes + 1 {
				if lasts[i] = tl.send(reserveCall(tl.code, orders[i])); !lasts[i].unclear() {
					return
				}
				unknown[i]++
			}
		})
	}
	all.Wait()
	seen := 0
	for i, o := range orders {
		require.Empty(t, lasts[i].complaint(), lasts[i])
		tl.granted(t, lasts[i], o)
		seen += unknown[i]
	}
	require.Positive(t, seen, "orders that were told OUTCOME_UNKNOWN")
	tl.proxy.spare()
	require.Equal(t, uses+crowd, tl.used(t))
}

// TestASilentCommitIsAnsweredInTime: whatever the request has waited for before, the client hears within its time.
func TestASilentCommitIsAnsweredInTime(t *testing.T) {
	const locked = 900 * time.Millisecond // just short of what a transaction waits for a row
	tl := openTill(t)
	blocked := &order{id: "blocked", customer: 1, amount: 700}
	for name, c := range map[string]call{
		"reserve": reserveCall(tl.code, blocked),
		"change":  {verb: aside, method: http.MethodPatch, path: "/vouchers/" + tl.code, body: `{"minOrderAmount":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			tl.proxy.strike(afterwards)
			got := make(chan answer, 1)
			tl.lockAnd(t, tl.code, func() {
				go func() { got <- tl.send(c) }()
				hold(t, locked)
			})
			a := <-got
			requireUnknown(t, a)
			require.Less(t, a.took, requestTimeout+slack/2, a)
			require.Less(t, tl.send(c).status, http.StatusBadRequest)
		})
	}
}

// TestAProcessDiesAtCommit kills it between COMMIT and the answer to its client, and just before COMMIT.
func TestAProcessDiesAtCommit(t *testing.T) {
	tl := openTill(t)
	uses := 0
	for name, f := range map[string]fate{"after": afterwards, "before": before} {
		t.Run(name, func(t *testing.T) {
			o := &order{id: name, customer: int64(1 + uses), amount: 700}
			tl.proxy.strike(f)
			got := make(chan answer, 1)
			go func() { got <- tl.send(reserveCall(tl.code, o)) }()
			tl.proxy.awaitStrike(t)
			tl.nodes[0].kill()
			a := <-got
			require.Error(t, a.err)
			require.True(t, a.excused, a)
			tl.nodes[0].start()
			repeat := tl.send(reserveCall(tl.code, o))
			tl.granted(t, repeat, o)
			uses++
			require.Equal(t, uses, tl.used(t))
		})
	}
	tl.audit(t, tl.code)
}
