package contract

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// Gates are the ports of one place that keeps gates, and what a test can do to it.
type Gates struct {
	port.Gate
	port.GateWatch
	port.GateKeeper
	port.GateLoader
	// Pass makes a voucher's gate older by d, as if that much time had passed there. Real time may pass beside it.
	Pass func(code voucher.Code, d time.Duration)
	// Lose removes a voucher's gate, as a flush does.
	Lose func(code voucher.Code)
	// Replace leaves the gate's data and lets another server hold them, as a failover or an old snapshot does.
	Replace func(code voucher.Code)
	// Damage are ways to lose a part of a gate, by name. An adapter that keeps a gate in one piece has none.
	Damage map[string]func(code voucher.Code)
}

// OpenGates returns a place for gates. It may be shared with other tests: each keeps to codes of its own.
type OpenGates func(t testing.TB) Gates

// gateWorld is a place for gates in the hands of one test, which works with one voucher.
type gateWorld struct {
	*testing.T
	Gates
	code     voucher.Code
	standing port.Standing
	epoch    int64
}

var gateCodes atomic.Int64

// newCode returns a code that no test before had, on a shared server neither.
func newCode() voucher.Code {
	return voucher.Code(fmt.Sprintf("G%d-%d", time.Now().UnixNano(), gateCodes.Add(1)))
}

func newGateWorld(t *testing.T, open OpenGates) *gateWorld {
	t.Helper()
	return &gateWorld{T: t, Gates: open(t), code: newCode(), standing: standing(10, 2), epoch: 1_772_366_400_000}
}

// standing is the voucher that these tests sell, as of change 1.
func standing(total, perUser int64, change ...func(*port.Standing)) port.Standing {
	s := port.Standing{Change: 1, Terms: voucher.Terms{
		DiscountAmount: discount, MinOrderAmount: 500, TotalLimit: total, PerUserLimit: perUser, Mode: voucher.Standard,
		StartsAt: Start.Add(-time.Hour), EndsAt: Start.Add(24 * time.Hour),
	}}
	for _, f := range change {
		f(&s)
	}
	return s
}

// load closes, fills and opens the gate under the next epoch, and remembers the voucher.
func (w *gateWorld) load(as port.Standing, holds ...port.Hold) {
	w.Helper()
	w.epoch++
	w.standing = as
	seal, err := w.Close(w.Context(), w.code, w.epoch)
	require.NoError(w, err)
	w.fill(seal, holds)
	w.open(seal, w.opening(holds))
}

func (w *gateWorld) opening(holds []port.Hold) port.Opening {
	return port.Opening{
		Standing: w.standing, Mode: voucher.FlashSync, Holds: int64(len(holds)),
		Remaining: w.standing.Terms.TotalLimit - int64(len(holds)),
	}
}

func (w *gateWorld) fill(seal port.Seal, holds []port.Hold) {
	w.Helper()
	for len(holds) > 0 {
		n := min(len(holds), port.GateBatchMax)
		require.NoError(w, w.Fill(w.Context(), seal, holds[:n]))
		holds = holds[n:]
	}
}

// open lets as much time pass as the gate asks for.
func (w *gateWorld) open(seal port.Seal, o port.Opening) {
	w.Helper()
	for range 3 {
		wait, err := w.Open(w.Context(), seal, o)
		require.NoError(w, err)
		if wait == 0 {
			return
		}
		w.Pass(w.code, wait)
	}
	require.Fail(w, "the gate doesn't open")
}

// batch is a batch under the voucher as it is remembered.
func (w *gateWorld) batch(reqs ...voucher.Request) port.GateBatch {
	return port.GateBatch{Code: w.code, As: w.standing, Now: Start, Requests: reqs}
}

func (w *gateWorld) reserve(reqs ...voucher.Request) port.GateDecision {
	w.Helper()
	return w.decide(w.batch(reqs...))
}

func (w *gateWorld) decide(b port.GateBatch) port.GateDecision {
	w.Helper()
	d, err := w.Reserve(w.Context(), b)
	require.NoError(w, err)
	require.Len(w, d.Replies, len(b.Requests))
	require.Equal(w, port.Footing{Epoch: w.epoch, Mode: voucher.FlashSync}, d.Footing)
	return d
}

// hold takes a use and insists on it.
func (w *gateWorld) hold(customer voucher.CustomerID, order voucher.OrderID) port.Hold {
	w.Helper()
	r := w.reserve(request(customer, order)).Replies[0]
	require.Equal(w, port.GateReserved, r.Code)
	return r.Hold
}

// codeOf is what the gate says to one request.
func (w *gateWorld) codeOf(customer voucher.CustomerID, order voucher.OrderID) port.GateCode {
	w.Helper()
	return w.reserve(request(customer, order)).Replies[0].Code
}

// giveBack frees the uses of the holds under the current epoch.
func (w *gateWorld) giveBack(conflicted bool, holds ...port.Hold) []bool {
	w.Helper()
	held, err := w.GiveBack(w.Context(), w.code, w.epoch, gateRefs(holds...), conflicted)
	require.NoError(w, err)
	return held
}

func gateRefs(holds ...port.Hold) []port.GateRef {
	refs := make([]port.GateRef, len(holds))
	for i, h := range holds {
		refs[i] = port.GateRef{Order: h.Order, Version: h.Version}
	}
	return refs
}

func (w *gateWorld) summary() port.GateSummary {
	w.Helper()
	s, err := w.Summary(w.Context(), w.code)
	require.NoError(w, err)
	return s
}

// find returns the order's hold, the zero one if there is none.
func (w *gateWorld) find(order voucher.OrderID) port.Hold {
	w.Helper()
	found, _, err := w.Find(w.Context(), w.code, []voucher.OrderID{order})
	require.NoError(w, err)
	return found[order]
}

// stored is a hold as a loader reads it from the ledger.
func stored(epoch, sequence int64, customer voucher.CustomerID, order voucher.OrderID) port.Hold {
	return port.Hold{
		Order: order, Customer: customer, OrderAmount: amount, DiscountAmount: discount, PerUserLimit: 2,
		Version: voucher.Version{Epoch: epoch, Sequence: sequence}, CreatedAt: Start, ExpiresAt: Start.Add(ttl),
	}
}

// sight is all that an inspection shows.
type sight struct {
	summary port.GateSummary
	holds   map[voucher.OrderID]port.Hold
	uses    map[voucher.CustomerID]int64
	longest int
}

func (s *sight) Summary(g port.GateSummary) { s.summary = g }

func (s *sight) Holds(page []port.Hold) {
	s.longest = max(s.longest, len(page))
	for _, h := range page {
		s.holds[h.Order] = h
	}
}

func (s *sight) Customers(page map[voucher.CustomerID]int64) {
	s.longest = max(s.longest, len(page))
	for id, n := range page {
		s.uses[id] = n
	}
}

func (w *gateWorld) inspect() *sight {
	w.Helper()
	s := &sight{holds: map[voucher.OrderID]port.Hold{}, uses: map[voucher.CustomerID]int64{}}
	require.NoError(w, w.Inspect(w.Context(), w.code, s))
	return s
}

// check holds the sums of the gate against each other.
func (w *gateWorld) check() {
	w.Helper()
	s := w.inspect()
	if !s.summary.Open {
		return
	}
	var held, reminders, pending int64
	uses := map[voucher.CustomerID]int64{}
	for _, h := range s.holds {
		if h.Conflicted {
			reminders++
			continue
		}
		held++
		uses[h.Customer]++
		if h.Pending {
			pending++
		}
	}
	require.Equal(w, uses, s.uses)
	require.Equal(w, s.summary.Total, s.summary.Remaining+held)
	require.Equal(w, []int64{held + reminders, reminders, int64(len(uses)), pending},
		[]int64{s.summary.Orders, s.summary.Conflicted, s.summary.Customers, s.summary.Pending})
}
