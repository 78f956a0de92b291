package fault_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// order is one order's life as its client knows it.
type order struct {
	id       string
	customer int64
	amount   int64

	answers []answer
	told    string // the body of its 201
	refusal string // the code of the last refusal
	asked   string // confirming or releasing, once that was sent
	unclear bool   // a reserve of it may have taken effect untold
}

// book is what the clients of one voucher were told. It judges each answer as it comes.
type book struct {
	voucher            string
	limit, perCustomer int

	mu         sync.Mutex
	orders     []*order
	aside      int
	live       int           // orders told 201 whose release nobody has asked for yet
	ofCustomer map[int64]int // the same for each customer
	statuses   map[string]int
	slowest    time.Duration
	complaints []string
	since      time.Time // from here on answers are counted in streak
	streak     []int     // decided answers in a row, of each node
	steady     bool      // the fault is over and got over: a 503 is a complaint
}

func newBook(voucher string, limit, perCustomer, nodes int) *book {
	return &book{
		voucher: voucher, limit: limit, perCustomer: perCustomer,
		ofCustomer: map[int64]int{}, statuses: map[string]int{}, streak: make([]int, nodes),
	}
}

func (b *book) open(customer, amount int64) *order {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &order{id: b.voucher + "-" + strconv.Itoa(len(b.orders)), customer: customer, amount: amount}
	b.orders = append(b.orders, o)
	return o
}

// note writes down an answer; o is nil for one that is about no order.
func (b *book) note(o *order, a answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.statuses[a.verb+" "+strconv.Itoa(a.status)+a.reason]++
	b.slowest = max(b.slowest, a.took)
	if c := a.complaint(); c != "" {
		b.complain(o, "%s: %v", c, a)
	}
	b.count(o, a)
	if o == nil {
		b.aside++
		return
	}
	o.answers = append(o.answers, a)
	switch {
	case a.verb != reserving:
	case a.unclear():
		o.unclear = true
	case a.refused():
		if o.refusal = a.code; o.told != "" {
			b.complain(o, "refused after it was told 201: %v", a)
		}
	case a.decided():
		b.promised(o, a)
	}
}

// promised enters a 201. From its receipt until somebody asks for the release the order is live beyond doubt, so
// these can never be more than the limit.
func (b *book) promised(o *order, a answer) {
	if o.told != "" {
		if o.told != a.body {
			b.complain(o, "told %s and then %s", o.told, a.body)
		}
		return
	}
	o.told = a.body
	b.live++
	b.ofCustomer[o.customer]++
	if b.live > b.limit || b.ofCustomer[o.customer] > b.perCustomer {
		b.complain(o, "oversold: %d live, %d of customer %d", b.live, b.ofCustomer[o.customer], o.customer)
	}
}

// ask notes that a confirm or a release is about to be sent.
func (b *book) ask(o *order, verb string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o.asked = verb
	if verb == releasing {
		b.live--
		b.ofCustomer[o.customer]--
	}
}

func (b *book) count(o *order, a answer) {
	switch {
	case b.since.IsZero() || a.began.Before(b.since) || a.excused:
	case a.decided():
		b.streak[a.node]++
	default:
		b.streak[a.node] = 0
		if b.steady {
			b.complain(o, "an outage after the fault was over: %v", a)
		}
	}
}

// complain is called with the lock held.
func (b *book) complain(o *order, format string, args ...any) {
	const most = 20
	if len(b.complaints) >= most {
		return
	}
	who := "aside"
	if o != nil {
		who = o.id
	}
	b.complaints = append(b.complaints, who+": "+fmt.Sprintf(format, args...))
}

// report complains from outside.
func (b *book) report(o *order, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complain(o, format, args...)
}

// awaitAnswers returns when the load has got so many more answers.
func (b *book) awaitAnswers(t *testing.T, more int) {
	t.Helper()
	all := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		n := 0
		for _, some := range b.statuses {
			n += some
		}
		return n
	}
	want := all() + more
	eventually(t, quietWithin, func() string {
		if n := all(); n < want {
			return fmt.Sprintf("%d answers, waiting for %d", n, want)
		}
		return ""
	})
}

// awaitRecovery returns when every node serves again, which must be soon after the fault's end. From then on nothing
// may fail.
func (b *book) awaitRecovery(t *testing.T) time.Duration {
	t.Helper()
	const enough = 15
	end := time.Now()
	b.mu.Lock()
	b.since = end
	clear(b.streak)
	b.mu.Unlock()
	eventually(t, backWithin, func() string {
		b.mu.Lock()
		defer b.mu.Unlock()
		for node, streak := range b.streak {
			if streak < enough {
				return fmt.Sprintf("process %d has served %d in a row (of all: %v; %v)", node, streak, b.streak, b.complaints)
			}
		}
		b.since, b.steady = time.Now(), true
		return ""
	})
	return time.Since(end)
}

// outages returns how many answers of a verb were 503.
func (b *book) outages(verb string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for what, some := range b.statuses {
		if strings.HasPrefix(what, verb+" 503") {
			n += some
		}
	}
	return n
}

// allowNoOutage makes every failure from here on a complaint.
func (b *book) allowNoOutage() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.since, b.steady = time.Now(), true
}

// counted returns how many answers of a verb had a status (with its reason, for a 503).
func (b *book) counted(what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.statuses[what]
}

// close fails the test for everything that was wrong with an answer.
func (b *book) close(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	t.Logf("answers: %v; the slowest took %v", b.statuses, b.slowest.Round(time.Millisecond))
	require.Empty(t, b.complaints)
}
