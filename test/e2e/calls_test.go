package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The routes, as the document writes them.
const (
	vouchersRoute     = "/vouchers"
	voucherRoute      = "/vouchers/{code}"
	reservationsRoute = "/vouchers/{code}/reservations"
	reservationRoute  = "/vouchers/{code}/reservations/{orderId}"
	confirmRoute      = "/vouchers/{code}/reservations/{orderId}/confirm"
	redemptionsRoute  = "/vouchers/{code}/redemptions"
)

// Answers as they are counted.
const (
	created           = "201"
	ok                = "200"
	gone              = "204"
	outOfStock        = "409 OUT_OF_STOCK"
	alreadyUsed       = "409 ALREADY_USED"
	orderConflict     = "409 ORDER_CONFLICT"
	alreadyConfirmed  = "409 ALREADY_CONFIRMED"
	limitBelowUsed    = "409 LIMIT_BELOW_USED"
	releasedExpired   = "409 RESERVATION_RELEASED EXPIRED"
	releasedCancelled = "409 RESERVATION_RELEASED CANCELLED"
	noReservation     = "404 RESERVATION_NOT_FOUND"
	noVoucher         = "404 VOUCHER_NOT_FOUND"
	paused            = "422 NOT_ELIGIBLE PAUSED"
	ended             = "422 NOT_ELIGIBLE ENDED"
	belowMinimum      = "422 NOT_ELIGIBLE BELOW_MINIMUM"
)

// fields is a JSON object in the making.
type fields map[string]any

const (
	discount = 1000
	amount   = 5000
)

// order is a customer's wish for one use.
type order struct {
	id       string
	customer int64
	amount   int64
}

// newcomer is a new order of a new customer.
func (l *ledger) newcomer() order {
	n := l.numbers.Add(1)
	return order{id: fmt.Sprintf("order-%d", n), customer: n, amount: amount}
}

// by is a new order of that customer.
func (l *ledger) by(customer int64) order {
	o := l.newcomer()
	o.customer = customer
	return o
}

func (l *ledger) newcomers(n int) []order {
	orders := make([]order, n)
	for i := range orders {
		orders[i] = l.newcomer()
	}
	return orders
}

// terms are those of the field cases unless they say otherwise: one use, one for each customer, open for long.
func terms(code string, other fields) fields {
	all := fields{
		"code": code, "discountAmount": discount, "totalLimit": 1,
		"startsAt": "2020-01-01T00:00:00Z", "endsAt": "2099-01-01T00:00:00Z",
	}
	maps.Copy(all, other)
	return all
}

// create makes a voucher, which must succeed.
func (s *shop) create(code string, other fields) {
	s.t.Helper()
	a := s.insist(request{method: http.MethodPost, route: vouchersRoute, body: terms(code, other)})
	require.Equal(s.t, created, a.String(), "%s", a.body)
	require.Equal(s.t, "/vouchers/"+code, a.header.Get("Location"))
}

func reserving(code string, o order) request {
	return request{
		method: http.MethodPost, route: reservationsRoute, code: code,
		body: fields{"customerId": o.customer, "orderId": o.id, "orderAmount": o.amount},
	}
}

// reserve insists, and notes what was promised.
func (s *shop) reserve(code string, o order) answer {
	a := s.insist(reserving(code, o))
	s.note(code, o.id, a)
	return a
}

// reserveOnce sends one request, also if the answer is 503.
func (s *shop) reserveOnce(code string, o order) answer {
	a := s.send(reserving(code, o))
	s.note(code, o.id, a)
	return a
}

// note keeps what a shop may rely on from now on.
func (l *ledger) note(code, id string, a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.promises[code] == nil {
		l.promises[code] = make(map[string]*promise)
	}
	p := l.promises[code][id]
	if p == nil {
		p = &promise{}
		l.promises[code][id] = p
	}
	switch {
	case a.status == http.StatusCreated:
		p.refused = false
		if !slices.Contains(p.bodies, string(a.body)) {
			p.bodies = append(p.bodies, string(a.body))
		}
	case a.busy():
		p.refused = false // it may have happened
	default:
		p.refused = true
	}
}

// winners are the orders of the voucher that were told 201.
func (l *ledger) winners(code string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for id, p := range l.promises[code] {
		if len(p.bodies) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// won are those of the orders that were told 201, and the others.
func (l *ledger) won(code string, orders []order) (winners, losers []order) {
	ids := l.winners(code)
	for _, o := range orders {
		if _, found := slices.BinarySearch(ids, o.id); found {
			winners = append(winners, o)
		} else {
			losers = append(losers, o)
		}
	}
	return winners, losers
}

func (s *shop) confirm(code, id string) answer {
	return s.insist(request{method: http.MethodPost, route: confirmRoute, code: code, order: id})
}

func (s *shop) release(code, id string) answer {
	return s.insist(request{method: http.MethodDelete, route: reservationRoute, code: code, order: id})
}

func (s *shop) patch(code string, change fields) answer {
	return s.insist(request{method: http.MethodPatch, route: voucherRoute, code: code, body: change})
}

// must fails the test unless the answer is the expected one.
func (s *shop) must(want string, a answer) answer {
	s.t.Helper()
	require.Equal(s.t, want, a.String(), "%s", a.body)
	return a
}

// voucher is a voucher as it is read.
type voucher struct {
	Code, StartsAt, EndsAt, Mode, EffectiveMode string
	DiscountAmount, MinOrderAmount              int64
	TotalLimit, PerUserLimit, UsedCount         int64
	Paused                                      bool
}

func (s *shop) voucher(code string) voucher {
	s.t.Helper()
	var v voucher
	a := s.insist(request{method: http.MethodGet, route: voucherRoute, code: code})
	s.must(ok, a).as(s.t, &v)
	return v
}

// reservation is a reservation as it is read.
type reservation struct {
	OrderID, Status, ReleaseReason                string
	CustomerID, OrderAmount, DiscountAmount       int64
	CreatedAt, ExpiresAt, ConfirmedAt, ReleasedAt string
	Persisted                                     bool
}

func (s *shop) find(code, id string) answer {
	return s.insist(request{method: http.MethodGet, route: reservationRoute, code: code, order: id})
}

func (s *shop) reservation(code, id string) reservation {
	s.t.Helper()
	var r reservation
	s.must(ok, s.find(code, id)).as(s.t, &r)
	return r
}

// redemptions reads the whole list, page after page.
func (s *shop) redemptions(code string, limit int, status string) []reservation {
	s.t.Helper()
	var all []reservation
	for cursor := ""; ; {
		query := fmt.Sprintf("limit=%d", limit)
		if status != "" {
			query += "&status=" + status
		}
		if cursor != "" {
			query += "&cursor=" + cursor
		}
		var page struct {
			Items      []reservation
			NextCursor string
		}
		a := s.insist(request{method: http.MethodGet, route: redemptionsRoute, code: code, query: query})
		s.must(ok, a).as(s.t, &page)
		require.LessOrEqual(s.t, len(page.Items), limit)
		all = append(all, page.Items...)
		if cursor = page.NextCursor; cursor == "" {
			return all
		}
	}
}

// deadline is what a 201 told, zero if it told none.
func (a answer) deadline() time.Time {
	var body struct {
		ExpiresAt time.Time `json:"expiresAt"`
	}
	if err := json.Unmarshal(a.body, &body); err != nil {
		return time.Time{}
	}
	return body.ExpiresAt
}

// expiry is the deadline that a 201 told.
func (a answer) expiry(t testing.TB) time.Time {
	t.Helper()
	require.False(t, a.deadline().IsZero(), "%s", a.body)
	return a.deadline()
}

// past returns when the instant, plus a little for its clock, is over. Deadlines are nothing that could be signalled.
func past(at time.Time) {
	timer := time.NewTimer(time.Until(at) + 20*time.Millisecond)
	<-timer.C
}
