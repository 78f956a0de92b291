package fault_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Bounds of the load.
const (
	buyers      = 16
	bystanders  = 6
	usual       = 10 * time.Millisecond  // between two orders of one buyer
	beforeAgain = 100 * time.Millisecond // after a 503: sooner than Retry-After asks, to see more of the outage
	resolution  = 20 * time.Second       // how long a client asks for a decision
	mostOrders  = 4000                   // of one buyer
)

// load is a crowd of clients at one voucher: they reserve, repeat, confirm and release, and repeat whatever was not
// decided until it is.
type load struct {
	shop    *shop
	voucher string
	other   string // a voucher that has nothing to do with the fault
	book    *book
	client  *http.Client
	// balancer chooses the process, if there is one; otherwise chance does.
	balancer atomic.Pointer[balancer]
	hasty    atomic.Bool // half of the clients hang up in mid-request
	closing  atomic.Bool // nothing is released any more, and each client leaves when it is sold out
	leave    atomic.Bool // bystanders go
	orders   sync.WaitGroup
	asides   sync.WaitGroup
}

// terms of the vouchers: scarce, so that the limits are met again and again.
const (
	totalLimit  = 150
	perCustomer = 2
	discount    = 1000
)

var vouchers atomic.Int64

// startLoad creates two vouchers and sends the crowd.
func (s *shop) startLoad(t *testing.T) *load {
	t.Helper()
	n := vouchers.Add(1)
	hot := fmt.Sprintf("HOT-%d", n)
	l := &load{
		shop: s, voucher: hot, other: fmt.Sprintf("OTHER-%d", n),
		book: newBook(hot, totalLimit, perCustomer, len(s.nodes)), client: newClient(),
	}
	s.create(t, l.client, l.voucher, totalLimit)
	s.create(t, l.client, l.other, 1_000_000)
	for i := range buyers {
		l.orders.Go(func() { l.buy(i) })
	}
	for i := range bystanders {
		l.asides.Go(func() { l.standBy(i) })
	}
	t.Cleanup(func() { // also when the test fails half way
		l.closing.Store(true)
		l.leave.Store(true)
		l.orders.Wait()
		l.asides.Wait()
		l.client.CloseIdleConnections()
	})
	return l
}

func voucherBody(code string, limit int) string {
	return fmt.Sprintf(`{"code":%q,"discountAmount":%d,"totalLimit":%d,"perUserLimit":%d,
		"startsAt":"2020-01-01T00:00:00Z","endsAt":"2099-01-01T00:00:00Z"}`, code, discount, limit, perCustomer)
}

func (s *shop) create(t *testing.T, client *http.Client, code string, limit int) {
	t.Helper()
	a := call{verb: aside, method: http.MethodPost, path: "/vouchers", body: voucherBody(code, limit)}.send(client, s.nodes, 0)
	require.Equal(t, http.StatusCreated, a.status, a)
}

// finish lets the voucher sell out and the clients leave.
func (l *load) finish() {
	l.closing.Store(true)
	l.orders.Wait()
	l.leave.Store(true)
	l.asides.Wait()
}

func (l *load) buy(buyer int) {
	const (
		regulars = 200
		most     = 9 // uses that a buyer keeps: together they want a few more than there are, and go on giving back and taking
	)
	var kept []*order
	for n := range mostOrders {
		customer := 1 + rand.Int64N(regulars)
		if l.closing.Load() {
			customer = int64(1000 + buyer*mostOrders + n) // whom no limit stops but the voucher's
		}
		o := l.book.open(customer, 500+rand.Int64N(2*discount))
		if l.serve(o, buyer%2 == 1) {
			kept = append(kept, o)
		}
		if l.closing.Load() && customer > regulars && (o.refusal == "OUT_OF_STOCK" || o.told == "" && o.refusal == "") {
			return
		}
		if len(kept) > most || len(kept) > 0 && o.refusal == "OUT_OF_STOCK" && !l.closing.Load() {
			l.end(kept[0], buyer%2 == 1, releasing)
			kept = kept[1:]
		}
		time.Sleep(usual) // the rate of one buyer
	}
}

// serve takes one order through its life, or some of it: true says that it may be released later.
func (l *load) serve(o *order, hasty bool) bool {
	if rand.IntN(10) == 0 {
		l.twins(o)
	}
	// Who hangs up here keeps the use: a reserve without an answer may arrive after the release, as a new reservation.
	l.insist(o, hasty && rand.IntN(4) == 0, reserveCall(l.voucher, o))
	if o.told == "" {
		return false
	}
	dice := rand.IntN(100)
	if dice >= 90 {
		l.insist(o, hasty && o.unclear, reserveCall(l.voucher, o))
	}
	switch {
	case dice < 3:
		l.end(o, hasty, confirming)
		return false
	case dice < 50 && !o.unclear && !l.closing.Load():
		l.end(o, hasty, releasing)
		return false
	}
	return !o.unclear && !l.closing.Load()
}

// twins sends the same reserve twice at once.
func (l *load) twins(o *order) {
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { l.book.note(o, l.send(reserveCall(l.voucher, o))) })
	}
	both.Wait()
}

func (l *load) end(o *order, hasty bool, verb string) {
	l.book.ask(o, verb)
	if verb == confirming {
		l.insist(o, hasty, confirmCall(l.voucher, o))
	} else {
		l.insist(o, hasty, releaseCall(l.voucher, o))
	}
}

func (l *load) send(c call) answer {
	at := rand.IntN(len(l.shop.nodes))
	if b := l.balancer.Load(); b != nil {
		at = b.one()
	}
	return c.send(l.client, l.shop.nodes, at)
}

// insist repeats a call until it is decided.
func (l *load) insist(o *order, hasty bool, c call) {
	const nerve = 3 // how often in a row somebody hangs up
	deadline := time.Now().Add(resolution)
	for attempt := 0; ; attempt++ {
		c.patience = 0
		if hasty && attempt < nerve && l.hasty.Load() {
			c.patience = time.Millisecond + rand.N(4*time.Millisecond)
		}
		a := l.send(c)
		l.book.note(o, a)
		if a.decided() {
			return
		}
		if time.Now().After(deadline) {
			l.book.report(o, "never decided: %v", a)
			return
		}
		if c.patience == 0 {
			time.Sleep(beforeAgain) // what a client leaves between two tries
		}
	}
}

// standBy asks for all the rest meanwhile: other vouchers, reads and changes.
func (l *load) standBy(who int) {
	const pace = 25 * time.Millisecond
	for n := range mostOrders {
		if l.leave.Load() {
			return
		}
		o := order{id: fmt.Sprintf("%s-%d-%d", l.other, who, n), customer: int64(1 + n), amount: discount}
		reserve := reserveCall(l.other, &o)
		reserve.verb = aside
		for _, c := range []call{
			reserve,
			{verb: aside, method: http.MethodGet, path: "/vouchers/" + l.voucher},
			{verb: aside, method: http.MethodGet, path: "/vouchers/" + l.voucher + "/redemptions?limit=5"},
			{verb: aside, method: http.MethodPatch, path: "/vouchers/" + l.other, body: fmt.Sprintf(`{"discountAmount":%d}`, 1+n)},
			{verb: aside, method: http.MethodPost, path: "/vouchers", body: voucherBody(fmt.Sprintf("%s-%d-%d", l.other, who, n), 1)},
		} {
			l.book.note(nil, l.send(c))
			time.Sleep(pace)
		}
	}
}
