package rest

import (
	"context"
	"net/http"

	"voucherd/domain/voucher"
)

// The fields of the bodies about vouchers, in the order in which their faults are told.
var (
	createFields = []string{"code", "discountAmount", "minOrderAmount", "totalLimit", "perUserLimit", "startsAt", "endsAt", "mode"}
	amendFields  = []string{"discountAmount", "minOrderAmount", "totalLimit", "perUserLimit", "startsAt", "endsAt", "paused", "mode"}
)

// voucherBody is a voucher as it is answered.
type voucherBody struct {
	Code           string `json:"code"`
	DiscountAmount int64  `json:"discountAmount"`
	MinOrderAmount int64  `json:"minOrderAmount"`
	TotalLimit     int64  `json:"totalLimit"`
	PerUserLimit   int64  `json:"perUserLimit"`
	StartsAt       string `json:"startsAt"`
	EndsAt         string `json:"endsAt"`
	Mode           string `json:"mode"`
	UsedCount      int64  `json:"usedCount"`
	Paused         bool   `json:"paused"`
	EffectiveMode  string `json:"effectiveMode"`
	CreatedAt      string `json:"createdAt"`
	UpdatedAt      string `json:"updatedAt"`
}

func showVoucher(v voucher.Voucher) voucherBody {
	s := v.Snapshot()
	return voucherBody{
		Code:           string(s.Code),
		DiscountAmount: s.DiscountAmount,
		MinOrderAmount: s.MinOrderAmount,
		TotalLimit:     s.TotalLimit,
		PerUserLimit:   s.PerUserLimit,
		StartsAt:       stamp(s.StartsAt),
		EndsAt:         stamp(s.EndsAt),
		Mode:           string(s.Mode),
		UsedCount:      s.Used,
		Paused:         s.Paused,
		EffectiveMode:  string(v.EffectiveMode()),
		CreatedAt:      stamp(s.CreatedAt),
		UpdatedAt:      stamp(s.UpdatedAt),
	}
}

// listBody is a page of a list.
type listBody[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"nextCursor,omitzero"`
}

func (s *Server) createVoucher(ctx context.Context, c *call) error {
	var code voucher.Code
	t := voucher.Terms{PerUserLimit: 1}
	err := c.decode(createFields, func(f *form) {
		code = f.code("code")
		t.DiscountAmount = f.whole("discountAmount", 1, voucher.MaxAmount)
		if f.has("minOrderAmount") {
			t.MinOrderAmount = f.whole("minOrderAmount", 0, voucher.MaxAmount)
		}
		t.TotalLimit = f.whole("totalLimit", 1, voucher.MaxLimit)
		if f.has("perUserLimit") {
			t.PerUserLimit = f.whole("perUserLimit", 1, voucher.MaxLimit)
		}
		t.StartsAt = f.instant("startsAt")
		t.EndsAt = f.instant("endsAt")
		f.window(t.StartsAt, t.EndsAt)
		if f.has("mode") {
			t.Mode = f.mode("mode")
		}
	})
	if err != nil {
		return err
	}
	v, err := s.deps.Vouchers.Create(ctx, code, t, c.actor)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/vouchers/"+string(v.Code()))
	return c.answer(http.StatusCreated, showVoucher(v))
}

func (s *Server) findVoucher(ctx context.Context, c *call) error {
	code, err := c.code()
	if err != nil {
		return err
	}
	v, err := s.deps.Vouchers.Find(ctx, code)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showVoucher(v))
}

func (s *Server) listVouchers(ctx context.Context, c *call) error {
	q, err := c.query()
	if err != nil {
		return err
	}
	limit, err := q.limit()
	if err != nil {
		return err
	}
	after, err := q.voucherCursor()
	if err != nil {
		return err
	}
	vs, more, err := s.deps.Vouchers.List(ctx, after, limit)
	if err != nil {
		return err
	}
	page := listBody[voucherBody]{Items: make([]voucherBody, len(vs))}
	for i, v := range vs {
		page.Items[i] = showVoucher(v)
	}
	if more {
		page.NextCursor = voucherCursor(vs[len(vs)-1].Code())
	}
	return c.answer(http.StatusOK, page)
}

func (s *Server) amendVoucher(ctx context.Context, c *call) error {
	code, err := c.code()
	if err != nil {
		return err
	}
	var a voucher.Amendment
	if err := c.decode(amendFields, func(f *form) { a = takeAmendment(f) }); err != nil {
		return err
	}
	v, err := s.deps.Vouchers.Amend(ctx, code, a, c.actor)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showVoucher(v))
}

func takeAmendment(f *form) voucher.Amendment {
	var a voucher.Amendment
	amount := func(lowest int64) func(string) int64 {
		return func(name string) int64 { return f.whole(name, lowest, voucher.MaxAmount) }
	}
	limit := func(name string) int64 { return f.whole(name, 1, voucher.MaxLimit) }
	a.DiscountAmount = optional(f, "discountAmount", amount(1))
	a.MinOrderAmount = optional(f, "minOrderAmount", amount(0))
	a.TotalLimit = optional(f, "totalLimit", limit)
	a.PerUserLimit = optional(f, "perUserLimit", limit)
	a.StartsAt = optional(f, "startsAt", f.instant)
	a.EndsAt = optional(f, "endsAt", f.instant)
	if a.StartsAt != nil && a.EndsAt != nil {
		f.window(*a.StartsAt, *a.EndsAt) // with only one of them, the stored voucher decides
	}
	a.Paused = optional(f, "paused", f.flag)
	a.Mode = optional(f, "mode", f.mode)
	return a
}
