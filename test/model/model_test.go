package model_test

import (
	"slices"
	"time"
)

// shop is the model: every voucher with every order that it ever saw. It counts by looking at all of them.
type shop struct {
	now      time.Time
	vouchers map[string]*sheet
}

// sheet is a voucher.
type sheet struct {
	terms
	created, updated time.Time
	sequence         int64
	orders           map[string]*redemption
}

// redemption is one order's last reservation, with the status that is written down.
type redemption struct {
	order               string
	customer            int64
	amount, discount    int64
	epoch, sequence     int64
	status              string
	created, expires    time.Time
	confirmed, released time.Time
	reason              string
}

const (
	ttl        = 15 * time.Minute
	configured = "CONFIGURED" // the code whose mode is set in the configuration ends so
)

func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func (s *shop) overdue(o *redemption) bool { return o.status == "RESERVED" && !o.expires.After(s.now) }

// expire writes down that an overdue order has ended.
func (s *shop) expire(o *redemption) {
	o.status, o.reason, o.released = "RELEASED", "EXPIRED", o.expires
}

// expireAll does so for a voucher and tells how many it were.
func (s *shop) expireAll(v *sheet) (n int) {
	for _, o := range v.orders {
		if s.overdue(o) {
			s.expire(o)
			n++
		}
	}
	return n
}

// live counts the orders that hold a use in the books, of one customer or (0) of all.
func (v *sheet) live(customer int64) (n int64) {
	for _, o := range v.orders {
		if o.status != "RELEASED" && (customer == 0 || o.customer == customer) {
			n++
		}
	}
	return n
}

// reserve answers a request; patient says that an overdue order elsewhere is ended, and not only told of.
func (s *shop) reserve(code, order string, customer, amount int64, patient bool) (string, redemption) {
	v := s.vouchers[code]
	if v == nil {
		return "VOUCHER_NOT_FOUND", redemption{}
	}
	if o := v.orders[order]; o != nil && o.status != "RELEASED" {
		switch {
		case s.overdue(o):
			s.expire(o)
		case o.customer == customer && o.amount == amount:
			return "", *o
		default:
			return "ORDER_CONFLICT", redemption{}
		}
	}
	var blocker *redemption
	for _, other := range s.vouchers {
		if o := other.orders[order]; o != nil && o.status != "RELEASED" {
			if !s.overdue(o) {
				return "ORDER_CONFLICT", redemption{}
			}
			blocker = o
		}
	}
	if refusal := s.refuses(v, customer, amount); refusal != "" {
		return refusal, redemption{}
	}
	if blocker != nil && !patient {
		return "BLOCKED", redemption{}
	}
	if blocker != nil {
		s.expire(blocker)
	}
	v.sequence++
	v.orders[order] = &redemption{
		order: order, customer: customer, amount: amount, discount: min(v.discount, amount),
		epoch: v.created.UnixMilli(), sequence: v.sequence, status: "RESERVED",
		created: cut(s.now), expires: cut(s.now).Add(ttl),
	}
	return "", *v.orders[order]
}

func (s *shop) refuses(v *sheet, customer, amount int64) string {
	switch {
	case v.paused:
		return "NOT_ELIGIBLE PAUSED"
	case s.now.Before(v.starts):
		return "NOT_ELIGIBLE NOT_STARTED"
	case !s.now.Before(v.ends):
		return "NOT_ELIGIBLE ENDED"
	case amount < v.minimum:
		return "NOT_ELIGIBLE BELOW_MINIMUM"
	}
	if v.live(customer) >= v.perUser || v.live(0) >= v.total {
		s.expireAll(v)
	}
	switch {
	case v.live(customer) >= v.perUser:
		return "ALREADY_USED"
	case v.live(0) >= v.total:
		return "OUT_OF_STOCK"
	}
	return ""
}

// find gives the order for an end; ok says whether the condition (nil: none) names its version.
func (s *shop) find(code, order string, tags [][2]int64, conditional bool) (string, *redemption) {
	v := s.vouchers[code]
	if v == nil {
		return "VOUCHER_NOT_FOUND", nil
	}
	o := v.orders[order]
	if o == nil {
		return "RESERVATION_NOT_FOUND", nil
	}
	if conditional && !slices.Contains(tags, [2]int64{o.epoch, o.sequence}) {
		return "PRECONDITION_FAILED", nil
	}
	if s.overdue(o) {
		s.expire(o)
	}
	return "", o
}

func (s *shop) confirm(code, order string, tags [][2]int64, conditional bool) (string, redemption) {
	refusal, o := s.find(code, order, tags, conditional)
	switch {
	case refusal != "":
		return refusal, redemption{}
	case o.status == "RELEASED":
		return "RESERVATION_RELEASED " + o.reason, redemption{}
	case o.status == "RESERVED":
		o.status, o.confirmed = "CONFIRMED", cut(s.now)
	}
	return "", *o
}

func (s *shop) release(code, order string, tags [][2]int64, conditional bool) string {
	refusal, o := s.find(code, order, tags, conditional)
	switch {
	case refusal != "":
		return refusal
	case o.status == "CONFIRMED":
		return "ALREADY_CONFIRMED"
	case o.status == "RESERVED":
		o.status, o.reason, o.released = "RELEASED", "CANCELLED", cut(s.now)
	}
	return ""
}

// seen is the order as a reader sees it now.
func (s *shop) seen(o *redemption) redemption {
	r := *o
	if s.overdue(o) {
		s.expire(&r)
	}
	return r
}

// list gives what a reader sees of a voucher's orders, newest first, of one status or ("") of all.
func (s *shop) list(code, status string) (string, []redemption) {
	v := s.vouchers[code]
	if v == nil {
		return "VOUCHER_NOT_FOUND", nil
	}
	var rs []redemption
	for _, o := range v.orders {
		if r := s.seen(o); status == "" || r.status == status {
			rs = append(rs, r)
		}
	}
	slices.SortFunc(rs, func(a, b redemption) int { return int(b.sequence - a.sequence) })
	return "", rs
}
