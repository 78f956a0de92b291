package contract

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

var gateLoadCases = map[string]func(*gateWorld){
	"a load brings what is stored":             gateLoads,
	"a closed gate answers nothing":            gateClosed,
	"a gate doesn't open too early":            gateTooEarly,
	"a partial load never opens":               gatePartial,
	"the higher epoch wins":                    gateHigherWins,
	"a close of the same epoch, late":          gateLateClose,
	"a gate that was lost":                     gateLost,
	"a gate that another server wrote":         gateReplaced,
	"a load that is lost on the way":           gateLoadLost,
	"a load during a lease":                    gateLoadDuringLease,
	"a part of the gate is gone":               gateDamaged,
	"versions go on under a higher epoch":      gateVersions,
	"a load with more holds than fit one call": gateBigLoad,
}

func gateLoads(w *gateWorld) {
	a, b, c := stored(5, 1, 7, "a"), stored(5, 9, 7, "b"), stored(4, 2, 8, "c")
	w.load(standing(10, 2), a, b, c)
	s := w.inspect()
	require.Equal(w, map[voucher.OrderID]port.Hold{"a": a, "b": b, "c": c}, s.holds)
	require.Equal(w, map[voucher.CustomerID]int64{7: 2, 8: 1}, s.uses)
	require.Equal(w, int64(7), s.summary.Remaining)
	require.Zero(w, s.summary.Pending, "what is stored isn't pending")
	r := w.reserve(request(7, "a")).Replies[0]
	require.Equal(w, port.GateReply{Code: port.GateDuplicate, Hold: a}, r)
	require.Equal(w, port.GateCustomerLimit, w.codeOf(7, "d"))
	h := w.hold(8, "d")
	require.Equal(w, voucher.Version{Epoch: w.epoch, Sequence: 1}, h.Version)
	require.Equal(w, []bool{true}, w.giveBack(false, a))
}

func gateClosed(w *gateWorld) {
	w.load(standing(10, 2))
	h := w.hold(7, "a")
	seal, err := w.Close(w.Context(), w.code, w.epoch+1)
	require.NoError(w, err)
	w.closed(h, "closed")
	require.NoError(w, w.Fill(w.Context(), seal, []port.Hold{h}))
	w.closed(h, "filled")
	w.epoch++
	w.open(seal, w.opening([]port.Hold{h}))
	require.Equal(w, int64(9), w.summary().Remaining)
}

func gateTooEarly(w *gateWorld) {
	w.epoch++
	seal, err := w.Close(w.Context(), w.code, w.epoch)
	require.NoError(w, err)
	wait, err := w.Open(w.Context(), seal, w.opening(nil))
	require.NoError(w, err)
	require.Positive(w, wait)
	require.LessOrEqual(w, wait, port.SoldOutLease)
	w.closed(port.Hold{}, "too early")
	w.Pass(w.code, port.SoldOutLease/2)
	wait, err = w.Open(w.Context(), seal, w.opening(nil))
	require.NoError(w, err)
	require.LessOrEqual(w, wait, port.SoldOutLease/2)
	w.open(seal, w.opening(nil))
	require.Equal(w, port.GateReserved, w.codeOf(7, "a"))
}

func gatePartial(w *gateWorld) {
	w.epoch++
	holds := []port.Hold{stored(1, 1, 7, "a"), stored(1, 2, 8, "b")}
	seal, err := w.Close(w.Context(), w.code, w.epoch)
	require.NoError(w, err)
	require.NoError(w, w.Fill(w.Context(), seal, holds[:1]))
	w.Pass(w.code, port.SoldOutLease)
	_, err = w.Open(w.Context(), seal, w.opening(holds))
	require.ErrorIs(w, err, port.ErrSuperseded)
	w.closed(holds[0], "a hold is missing")
	require.NoError(w, w.Fill(w.Context(), seal, holds))
	w.open(seal, w.opening(holds))
	err = w.Fill(w.Context(), seal, []port.Hold{stored(1, 3, 9, "c")})
	require.ErrorIs(w, err, port.ErrSuperseded, "an open gate is not filled")
	require.Zero(w, w.find("c"))
}

func gateHigherWins(w *gateWorld) {
	low, err := w.Close(w.Context(), w.code, w.epoch+1)
	require.NoError(w, err)
	require.NoError(w, w.Fill(w.Context(), low, []port.Hold{stored(1, 1, 7, "a")}))
	high, err := w.Close(w.Context(), w.code, w.epoch+2)
	require.NoError(w, err)
	_, err = w.Close(w.Context(), w.code, w.epoch+1)
	require.ErrorIs(w, err, port.ErrSuperseded)
	require.ErrorIs(w, w.Fill(w.Context(), low, []port.Hold{stored(1, 2, 8, "b")}), port.ErrSuperseded)
	w.Pass(w.code, port.SoldOutLease)
	_, err = w.Open(w.Context(), low, w.opening(nil))
	require.ErrorIs(w, err, port.ErrSuperseded)
	w.epoch += 2
	w.open(high, w.opening(nil))
	require.Zero(w, w.find("a"), "emptied by the higher one")
	_, err = w.Close(w.Context(), w.code, w.epoch-1)
	require.ErrorIs(w, err, port.ErrSuperseded)
	require.Equal(w, port.GateReserved, w.codeOf(7, "a"))
}

func gateLateClose(w *gateWorld) {
	w.load(standing(10, 2))
	h := w.hold(7, "a")
	_, err := w.Close(w.Context(), w.code, w.epoch)
	require.ErrorIs(w, err, port.ErrSuperseded, "an open gate is not closed by its own load, sent again")
	require.Equal(w, h, w.find("a"))
}

func gateLost(w *gateWorld) {
	w.load(standing(10, 2))
	h := w.hold(7, "a")
	w.Lose(w.code)
	w.closed(h, "lost")
	w.load(w.standing, h)
	require.Equal(w, port.GateDuplicate, w.codeOf(7, "a"))
}

func gateReplaced(w *gateWorld) {
	w.load(standing(10, 2))
	h := w.hold(7, "a")
	w.Replace(w.code)
	w.closed(h, "another server's")
	// A foreign gate's epoch binds nobody.
	w.epoch -= 5
	w.load(w.standing)
	require.Equal(w, port.GateReserved, w.codeOf(7, "a"))
}

func gateLoadLost(w *gateWorld) {
	for name, lose := range map[string]func(voucher.Code){"lost": w.Lose, "replaced": w.Replace} {
		w.epoch++
		seal, err := w.Close(w.Context(), w.code, w.epoch)
		require.NoError(w, err)
		lose(w.code)
		require.ErrorIs(w, w.Fill(w.Context(), seal, []port.Hold{stored(1, 1, 7, "a")}), port.ErrSuperseded, name)
		w.Pass(w.code, port.SoldOutLease)
		_, err = w.Open(w.Context(), seal, w.opening(nil))
		require.ErrorIs(w, err, port.ErrSuperseded, name)
		w.closed(port.Hold{}, name)
	}
}

func gateLoadDuringLease(w *gateWorld) {
	h := w.soldOut()
	w.epoch++
	seal, err := w.Close(w.Context(), w.code, w.epoch)
	require.NoError(w, err)
	wait, err := w.Open(w.Context(), seal, w.opening(nil))
	require.NoError(w, err)
	require.Positive(w, wait, "the lease may be relied on until it is over")
	require.NoError(w, w.Fill(w.Context(), seal, []port.Hold{h}))
	w.open(seal, w.opening([]port.Hold{h}))
	require.Zero(w, w.reserve(request(7, "a")).Lease)
}

func gateDamaged(w *gateWorld) {
	for part, damage := range w.Damage {
		w.load(standing(10, 2), stored(1, 1, 7, "loaded"))
		h := w.hold(8, "a")
		damage(w.code)
		w.closed(h, "without its "+part)
	}
	w.load(standing(10, 2))
}

func gateVersions(w *gateWorld) {
	w.load(standing(10, 2))
	first := w.hold(7, "a")
	w.load(w.standing)
	second := w.hold(7, "a")
	require.Equal(w, 1, second.Version.Compare(first.Version))
	require.Equal(w, []bool{false}, w.giveBack(false, first))
	held, err := w.Acknowledge(w.Context(), w.code, gateRefs(first))
	require.NoError(w, err)
	require.Equal(w, []bool{false}, held, "nothing of a lower epoch is acknowledged")
}

func gateBigLoad(w *gateWorld) {
	var holds []port.Hold
	for n := range 3*port.GateBatchMax + 7 {
		holds = append(holds, stored(1, int64(n+1), voucher.CustomerID(1+n/2), orderID(n)))
	}
	w.epoch++
	seal, err := w.Close(w.Context(), w.code, w.epoch)
	require.NoError(w, err)
	require.ErrorIs(w, w.Fill(w.Context(), seal, holds), port.ErrOverloaded)
	w.load(standing(5000, 2), holds...)
	require.Len(w, w.inspect().holds, len(holds))
}

var gateRaceCases = map[string]func(*gateWorld){
	"N goroutines, one use":                     gateOneWinner,
	"N goroutines, one order":                   gateOneOrder,
	"N goroutines, one customer":                gateOneCustomer,
	"N goroutines reserve and give back":        gateComeAndGo,
	"one hold given back by N goroutines, once": gateBackOnce,
	"racing loaders":                            gateRacingLoaders,
	"loads while others reserve":                gateLoadsUnderLoad,
}

// atOnce runs f in n goroutines.
func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// codes counts what the gate says to n requests that come at once.
func (w *gateWorld) codes(n int, q func(i int) voucher.Request) map[port.GateCode]int {
	w.Helper()
	all := make([]port.GateCode, n)
	errs := make([]error, n)
	atOnce(n, func(i int) {
		d, err := w.Reserve(w.Context(), w.batch(q(i)))
		if errs[i] = err; err == nil {
			all[i] = d.Replies[0].Code
		}
	})
	require.NoError(w, errors.Join(errs...))
	count := map[port.GateCode]int{}
	for _, c := range all {
		count[c]++
	}
	return count
}

const manyHolds = 64

func gateOneWinner(w *gateWorld) {
	w.load(standing(1, 1))
	got := w.codes(manyHolds, func(i int) voucher.Request { return request(voucher.CustomerID(i+1), orderID(i)) })
	require.Equal(w, map[port.GateCode]int{port.GateReserved: 1, port.GateOutOfStock: manyHolds - 1}, got)
}

func gateOneOrder(w *gateWorld) {
	w.load(standing(10, 10))
	got := w.codes(manyHolds, func(int) voucher.Request { return request(7, "a") })
	require.Equal(w, map[port.GateCode]int{port.GateReserved: 1, port.GateDuplicate: manyHolds - 1}, got)
}

func gateOneCustomer(w *gateWorld) {
	w.load(standing(100, 3))
	got := w.codes(manyHolds, func(i int) voucher.Request { return request(7, orderID(i)) })
	require.Equal(w, map[port.GateCode]int{port.GateReserved: 3, port.GateCustomerLimit: manyHolds - 3}, got)
}

func gateBackOnce(w *gateWorld) {
	w.load(standing(1, 1))
	h := w.hold(7, "a")
	held := make([]bool, manyHolds)
	errs := make([]error, manyHolds)
	atOnce(manyHolds, func(i int) {
		var marks []bool
		if marks, errs[i] = w.GiveBack(w.Context(), w.code, w.epoch, gateRefs(h), false); errs[i] == nil {
			held[i] = marks[0]
		}
	})
	require.NoError(w, errors.Join(errs...))
	n := 0
	for _, yes := range held {
		if yes {
			n++
		}
	}
	require.Equal(w, 1, n)
	require.Equal(w, int64(1), w.summary().Remaining)
}

func gateComeAndGo(w *gateWorld) {
	w.load(standing(5, 2))
	errs := make([]error, 16)
	atOnce(len(errs), func(i int) {
		for n := range 20 {
			d, err := w.Reserve(w.Context(), w.batch(request(voucher.CustomerID(i+1), voucher.OrderID(fmt.Sprintf("%d-%d", i, n%3)))))
			if err == nil && d.Replies[0].Hold.Order != "" {
				_, err = w.GiveBack(w.Context(), w.code, w.epoch, gateRefs(d.Replies[0].Hold), false)
			}
			errs[i] = errors.Join(errs[i], err)
		}
	})
	require.NoError(w, errors.Join(errs...))
	s := w.summary()
	require.Equal(w, []int64{5, 0, 0, 0}, []int64{s.Remaining, s.Orders, s.Customers, s.Pending})
}

func gateRacingLoaders(w *gateWorld) {
	const loaders = 8
	w.load(standing(10, 2))
	holds := []port.Hold{stored(1, 1, 7, "a"), stored(1, 2, 8, "b")}
	errs := make([]error, loaders)
	opening := w.opening(holds)
	atOnce(loaders, func(i int) {
		errs[i] = func() error {
			seal, err := w.Close(w.Context(), w.code, w.epoch+1+int64(i))
			if err != nil {
				return err
			}
			for _, h := range holds {
				if err := w.Fill(w.Context(), seal, []port.Hold{h}); err != nil {
					return err
				}
			}
			for {
				wait, err := w.Open(w.Context(), seal, opening)
				if err != nil || wait == 0 {
					return err
				}
				time.Sleep(time.Millisecond) // lets the other loaders in between
				w.Pass(w.code, wait)
			}
		}()
	})
	for i, err := range errs[:loaders-1] {
		if err != nil {
			require.ErrorIs(w, err, port.ErrSuperseded, i)
		}
	}
	require.NoError(w, errs[loaders-1], "nobody overtakes the highest epoch")
	w.epoch += loaders
	s := w.summary()
	require.Equal(w, w.epoch, s.Epoch)
	require.Equal(w, []int64{8, 2, 2}, []int64{s.Remaining, s.Orders, s.Customers})
}

// gateLoadsUnderLoad has loads come again and again while uses are taken: an answer always belongs to the gate of its epoch,
// and no gate grants more than it was loaded with.
func gateLoadsUnderLoad(w *gateWorld) {
	const rounds, total = 5, 20
	w.load(standing(total, 1))
	stop := make(chan struct{})
	granted := make([]map[int64]int, 8)
	var wg sync.WaitGroup
	failures := make([]error, len(granted))
	for i := range granted {
		granted[i] = map[int64]int{}
		b := w.batch()
		wg.Go(func() {
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				b.Requests = []voucher.Request{request(voucher.CustomerID(i*1_000_000+n), voucher.OrderID(fmt.Sprintf("%d-%d", i, n)))}
				d, err := w.Reserve(w.Context(), b)
				switch {
				case errors.Is(err, port.ErrNotLoaded):
				case err != nil:
					failures[i] = err
				case d.Replies[0].Code == port.GateReserved:
					granted[i][d.Epoch]++
					if d.Replies[0].Hold.Version.Epoch != d.Epoch {
						failures[i] = errors.New("a version of another epoch")
					}
				}
			}
		})
	}
	for range rounds {
		w.load(w.standing)
		for w.summary().Remaining > 0 {
			time.Sleep(time.Millisecond) // a pause between two looks; the sale ends the loop
		}
	}
	close(stop)
	wg.Wait()
	require.NoError(w, errors.Join(failures...))
	sum := map[int64]int{}
	for _, g := range granted {
		for epoch, n := range g {
			sum[epoch] += n
		}
	}
	for epoch, n := range sum {
		require.LessOrEqual(w, n, total, epoch)
	}
	require.Equal(w, total, sum[w.epoch])
}
