package model_test

import (
	"strings"
	"time"
)

// terms are what may be amended.
type terms struct {
	discount, minimum, total, perUser int64
	starts, ends                      time.Time
	paused                            bool
	mode                              string
}

func (s *shop) create(code string, t terms) string {
	t.starts, t.ends = cut(t.starts), cut(t.ends)
	if t.mode == "" {
		t.mode = "standard"
	}
	if field := wrong(t, "endsAt"); field != "" {
		return "INVALID_REQUEST " + field
	}
	if s.vouchers[code] != nil {
		return "VOUCHER_EXISTS"
	}
	if t.mode != "standard" {
		return "MODE_UNAVAILABLE"
	}
	s.vouchers[code] = &sheet{terms: t, created: cut(s.now), updated: cut(s.now), orders: map[string]*redemption{}}
	return ""
}

// wrong names the first wrong field.
func wrong(t terms, window string) string {
	const amount, limit = 9007199254740991, 2147483647
	switch {
	case t.discount < 1 || t.discount > amount:
		return "discountAmount"
	case t.minimum < 0 || t.minimum > amount:
		return "minOrderAmount"
	case t.total < 1 || t.total > limit:
		return "totalLimit"
	case t.perUser < 1 || t.perUser > limit:
		return "perUserLimit"
	case !t.starts.Before(t.ends):
		return window
	case t.mode != "standard" && t.mode != "flash-sync" && t.mode != "flash-async":
		return "mode"
	}
	return ""
}

// change is an amendment: what is nil stays.
type change struct {
	discount, minimum, total, perUser *int64
	starts, ends                      *time.Time
	paused                            *bool
	mode                              *string
}

func (s *shop) amend(code string, c change) string {
	v := s.vouchers[code]
	if v == nil {
		return "VOUCHER_NOT_FOUND"
	}
	if c.total != nil && *c.total < v.live(0) {
		s.expireAll(v) // nobody holds them any more
	}
	t := v.terms
	put(&t.discount, c.discount)
	put(&t.minimum, c.minimum)
	put(&t.total, c.total)
	put(&t.perUser, c.perUser)
	put(&t.starts, c.starts)
	put(&t.ends, c.ends)
	put(&t.paused, c.paused)
	put(&t.mode, c.mode)
	t.starts, t.ends = cut(t.starts), cut(t.ends)
	window := "startsAt"
	if c.ends != nil {
		window = "endsAt"
	}
	if field := wrong(t, window); field != "" {
		return "INVALID_REQUEST " + field
	}
	if t.total < v.live(0) {
		return "LIMIT_BELOW_USED"
	}
	if c.mode != nil && strings.HasSuffix(code, configured) {
		return "MODE_SET_BY_CONFIG"
	}
	if t.mode != "standard" {
		return "MODE_UNAVAILABLE"
	}
	if t != v.terms {
		v.terms, v.updated = t, cut(s.now)
	}
	return ""
}

func put[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
