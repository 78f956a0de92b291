package contract

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

var gateHistories = map[string]func(*gateWorld){"random histories": gateRandom}

// gateModel says in the plainest way what a gate that serves does. It has no lease: histories are short, so the checker
// takes a refusal by a running one as it comes.
type gateModel struct {
	serves   bool
	standing port.Standing
	sequence int64
	orders   map[voucher.OrderID]port.Hold
	leased   bool // a lease may run
}

func (m *gateModel) free() int64 {
	n := m.standing.Terms.TotalLimit
	for _, h := range m.orders {
		if !h.Conflicted {
			n--
		}
	}
	return n
}

func (m *gateModel) uses(c voucher.CustomerID) (n int64) {
	for _, h := range m.orders {
		if h.Customer == c && !h.Conflicted {
			n++
		}
	}
	return n
}

func (m *gateModel) tell(as port.Standing) {
	if as.Change > m.standing.Change {
		m.standing = as
	}
}

// reserve says what must be answered.
func (m *gateModel) reserve(q voucher.Request, change, epoch int64) port.GateCode {
	h, ok := m.orders[q.Order]
	switch {
	case ok && h.Conflicted:
		return port.GateConflicted
	case ok && h.Customer == q.Customer && h.OrderAmount == q.Amount:
		return port.GateDuplicate
	case ok:
		return port.GateConflict
	case change < m.standing.Change:
		return port.GateStale
	case m.standing.Terms.Paused:
		return port.GatePaused
	case m.uses(q.Customer) >= m.standing.Terms.PerUserLimit:
		return port.GateCustomerLimit
	case m.leased || m.free() <= 0:
		m.leased = true
		return port.GateOutOfStock
	}
	m.sequence++
	m.orders[q.Order] = port.Hold{
		Order: q.Order, Customer: q.Customer, OrderAmount: q.Amount, DiscountAmount: min(m.standing.Terms.DiscountAmount, q.Amount),
		PerUserLimit: m.standing.Terms.PerUserLimit, Version: voucher.Version{Epoch: epoch, Sequence: m.sequence},
		CreatedAt: Start, ExpiresAt: Start.Add(q.TTL), Actor: q.Actor, Pending: true,
	}
	return port.GateReserved
}

func (m *gateModel) giveBack(ref port.GateRef, conflicted bool) bool {
	h, ok := m.orders[ref.Order]
	if !ok || h.Version != ref.Version {
		return false
	}
	delete(m.orders, ref.Order)
	if conflicted {
		h.Conflicted, h.Pending = true, false
		m.orders[ref.Order] = h
	}
	return true
}

func (m *gateModel) acknowledge(ref port.GateRef) bool {
	h, ok := m.orders[ref.Order]
	if !ok || h.Conflicted || h.Version != ref.Version {
		return false
	}
	h.Pending = false
	m.orders[ref.Order] = h
	return true
}

// history drives a gate and its model side by side.
type history struct {
	*gateWorld
	rt   *rapid.T
	m    gateModel
	refs []port.GateRef // all versions that ever were, for the late and the repeated
}

func gateRandom(w *gateWorld) {
	rapid.Check(w.T, func(rt *rapid.T) {
		w.code = newCode()
		h := &history{gateWorld: w, rt: rt}
		h.loadAnew(standing(3, 2))
		rt.Repeat(map[string]func(*rapid.T){
			"reserve":     h.reserveSome,
			"acknowledge": h.acknowledgeSome,
			"give back":   h.giveBackSome,
			"tell":        h.tellSome,
			"lower":       h.lowerSome,
			"lose":        h.loseOrReplace,
			"load":        func(*rapid.T) { h.loadAnew(h.standing) },
			"pass":        h.passLease,
			"":            h.compare,
		})
	})
}

// passLease makes sure that no lease runs, or leaves it to run.
func (h *history) passLease(*rapid.T) {
	h.Pass(h.code, time.Minute)
	h.m.leased = false
}

// loadAnew loads what the model holds as a ledger would have it stored.
func (h *history) loadAnew(as port.Standing) {
	var holds []port.Hold
	kept := map[voucher.OrderID]port.Hold{}
	for _, o := range h.m.orders {
		if !o.Conflicted {
			o.Pending = false
			holds = append(holds, o)
			kept[o.Order] = o
		}
	}
	h.load(as, holds...)
	h.m = gateModel{serves: true, standing: as, orders: kept}
}

func (h *history) reserveSome(rt *rapid.T) {
	b := h.batch()
	for range rapid.IntRange(1, 4).Draw(rt, "requests") {
		q := request(voucher.CustomerID(rapid.IntRange(1, 3).Draw(rt, "customer")), voucher.OrderID(fmt.Sprint("o", rapid.IntRange(1, 6).Draw(rt, "order"))))
		q.Amount = rapid.SampledFrom([]int64{amount, 700}).Draw(rt, "amount")
		b.Requests = append(b.Requests, q)
	}
	b.As.Change -= rapid.SampledFrom([]int64{0, 0, 0, 1}).Draw(rt, "behind")
	if rapid.Bool().Draw(rt, "settle") && len(h.refs) > 0 {
		b.Settled = []port.GateRef{rapid.SampledFrom(h.refs).Draw(rt, "settled")}
	}
	d, err := h.Reserve(h.Context(), b)
	if !h.m.serves {
		require.ErrorIs(rt, err, port.ErrNotLoaded)
		return
	}
	require.NoError(rt, err)
	for _, ref := range b.Settled {
		h.m.acknowledge(ref)
	}
	h.m.tell(b.As)
	for i, q := range b.Requests {
		require.Equal(rt, h.m.reserve(q, b.As.Change, h.epoch), d.Replies[i].Code, i)
		if o := d.Replies[i].Hold; o.Order != "" {
			require.Equal(rt, h.m.orders[q.Order], o)
			h.refs = append(h.refs, port.GateRef{Order: o.Order, Version: o.Version})
		}
	}
	require.Equal(rt, h.m.sequence, d.Sequence)
	require.Equal(rt, h.m.standing.Change, d.Change)
	h.Pass(h.code, time.Minute) // real time must not decide whether the lease still runs
	h.m.leased = false
}

func (h *history) someRefs(rt *rapid.T) []port.GateRef {
	if len(h.refs) == 0 {
		rt.Skip() // the command needs an order; rapid draws another one
	}
	return rapid.SliceOfN(rapid.SampledFrom(h.refs), 1, 4).Draw(rt, "refs")
}

func (h *history) acknowledgeSome(rt *rapid.T) {
	refs := h.someRefs(rt)
	held, err := h.Acknowledge(h.Context(), h.code, refs)
	if !h.m.serves {
		require.ErrorIs(rt, err, port.ErrNotLoaded)
		return
	}
	require.NoError(rt, err)
	for i, ref := range refs {
		require.Equal(rt, h.m.acknowledge(ref), held[i])
	}
}

func (h *history) giveBackSome(rt *rapid.T) {
	refs, conflicted := h.someRefs(rt), rapid.Bool().Draw(rt, "conflicted")
	epoch := h.epoch - rapid.SampledFrom([]int64{0, 0, 0, 1}).Draw(rt, "behind")
	held, err := h.GiveBack(h.Context(), h.code, epoch, refs, conflicted)
	if !h.m.serves || epoch != h.epoch {
		require.ErrorIs(rt, err, port.ErrNotLoaded)
		return
	}
	require.NoError(rt, err)
	for i, ref := range refs {
		require.Equal(rt, h.m.giveBack(ref, conflicted), held[i])
	}
}

func (h *history) tellSome(rt *rapid.T) {
	as := standing(rapid.Int64Range(3, 6).Draw(rt, "total"), rapid.Int64Range(1, 3).Draw(rt, "per user"))
	as.Change, as.Terms.Paused = h.standing.Change+rapid.Int64Range(-1, 1).Draw(rt, "step"), rapid.Float64().Draw(rt, "paused") < 0.1
	if as.Change > h.standing.Change {
		as.Terms.TotalLimit = max(as.Terms.TotalLimit, h.m.standing.Terms.TotalLimit) // down goes by way of lower
		h.standing = as
	}
	told, err := h.Tell(h.Context(), h.code, as)
	if !h.m.serves {
		require.ErrorIs(rt, err, port.ErrNotLoaded)
		return
	}
	require.NoError(rt, err)
	h.m.tell(as)
	require.Equal(rt, h.m.standing.Change, told.Change)
	require.Equal(rt, h.m.standing.Terms.TotalLimit, told.Total)
}

func (h *history) lowerSome(rt *rapid.T) {
	total := rapid.Int64Range(1, 5).Draw(rt, "total")
	_, err := h.Lower(h.Context(), h.code, h.standing, total)
	if !h.m.serves {
		require.ErrorIs(rt, err, port.ErrNotLoaded)
		return
	}
	h.m.tell(h.standing)
	less := h.m.standing.Terms.TotalLimit - total
	switch {
	case less > 0 && h.m.free() < less:
		require.ErrorIs(rt, err, voucher.ErrLimitBelowUsed)
	case less > 0:
		require.NoError(rt, err)
		h.m.standing.Terms.TotalLimit = total
	default:
		require.NoError(rt, err)
	}
	h.standing.Terms.TotalLimit = h.m.standing.Terms.TotalLimit // a later load finds it stored
}

func (h *history) loseOrReplace(rt *rapid.T) {
	if rapid.Bool().Draw(rt, "replace") {
		h.Replace(h.code)
	} else {
		h.Lose(h.code)
	}
	h.m.serves = false
}

func (h *history) compare(rt *rapid.T) {
	s := h.inspect()
	require.Equal(rt, h.m.serves, s.summary.Open)
	if !h.m.serves {
		return
	}
	require.Equal(rt, h.m.orders, s.holds)
	require.Equal(rt, []int64{h.m.standing.Change, h.m.standing.Terms.TotalLimit, h.m.free()},
		[]int64{s.summary.Change, s.summary.Total, s.summary.Remaining})
	h.check()
}
