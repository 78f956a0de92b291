package rest

import (
	"context"
	"math"
	"net/http"

	"voucherd/application/reservation"
	"voucherd/domain/voucher"
)

var reserveFields = []string{"customerId", "orderId", "orderAmount"}

// reservedBody answers a reserve. A repeat gets the same bytes, so nothing in it may change during a reservation's life.
type reservedBody struct {
	OrderID        string `json:"orderId"`
	DiscountAmount int64  `json:"discountAmount"`
	ExpiresAt      string `json:"expiresAt"`
}

// confirmedBody answers a confirm.
type confirmedBody struct {
	OrderID        string `json:"orderId"`
	Status         string `json:"status"`
	DiscountAmount int64  `json:"discountAmount"`
}

// reservationBody is a reservation as it is read, alone or in the list of redemptions.
type reservationBody struct {
	OrderID        string `json:"orderId"`
	CustomerID     int64  `json:"customerId"`
	Status         string `json:"status"`
	OrderAmount    int64  `json:"orderAmount"`
	DiscountAmount int64  `json:"discountAmount"`
	CreatedAt      string `json:"createdAt"`
	ExpiresAt      string `json:"expiresAt"`
	ConfirmedAt    string `json:"confirmedAt,omitzero"`
	ReleasedAt     string `json:"releasedAt,omitzero"`
	ReleaseReason  string `json:"releaseReason,omitzero"`
	Persisted      bool   `json:"persisted"`
}

func showReservation(v voucher.Reservation) reservationBody {
	r := v.Record()
	return reservationBody{
		OrderID:        string(r.Order),
		CustomerID:     int64(r.Customer),
		Status:         string(r.Status),
		OrderAmount:    r.OrderAmount,
		DiscountAmount: r.DiscountAmount,
		CreatedAt:      stamp(r.CreatedAt),
		ExpiresAt:      stamp(r.ExpiresAt),
		ConfirmedAt:    stampIf(r.ConfirmedAt),
		ReleasedAt:     stampIf(r.ReleasedAt),
		ReleaseReason:  r.ReleaseReason,
		Persisted:      true, // whatever the reader finds is a stored row
	}
}

func (s *Server) reserve(ctx context.Context, c *call) error {
	code, err := c.code()
	if err != nil {
		return err
	}
	w := reservation.Reserve{Code: code, Actor: c.actor}
	err = c.decode(reserveFields, func(f *form) {
		w.Customer = f.whole("customerId", 1, math.MaxInt64)
		w.Order = string(f.order("orderId"))
		w.Amount = f.whole("orderAmount", 1, voucher.MaxAmount)
	})
	if err != nil {
		return err
	}
	v, err := s.deps.Reservations.Reserve(ctx, w)
	if err != nil {
		return err
	}
	r := v.Record()
	h := c.w.Header()
	h.Set("Location", "/vouchers/"+string(r.Code)+"/reservations/"+string(r.Order))
	setETag(h, r.Version)
	return c.answer(http.StatusCreated, reservedBody{
		OrderID: string(r.Order), DiscountAmount: r.DiscountAmount, ExpiresAt: stamp(r.ExpiresAt),
	})
}

// ending reads what confirm and release have in common.
func (c *call) ending() (code voucher.Code, id voucher.OrderID, cond voucher.Condition, err error) {
	if code, id, err = c.order(); err != nil {
		return code, id, cond, err
	}
	cond, err = parseIfMatch(c.r.Header["If-Match"])
	return code, id, cond, err
}

func (s *Server) confirm(ctx context.Context, c *call) error {
	code, id, cond, err := c.ending()
	if err != nil {
		return err
	}
	v, err := s.deps.Reservations.Confirm(ctx, code, id, cond, c.actor)
	if err != nil {
		return err
	}
	r := v.Record()
	setETag(c.w.Header(), r.Version)
	return c.answer(http.StatusOK, confirmedBody{
		OrderID: string(r.Order), Status: string(r.Status), DiscountAmount: r.DiscountAmount,
	})
}

func (s *Server) release(ctx context.Context, c *call) error {
	code, id, cond, err := c.ending()
	if err != nil {
		return err
	}
	if err := s.deps.Reservations.Release(ctx, code, id, cond, c.actor); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) findReservation(ctx context.Context, c *call) error {
	code, id, err := c.order()
	if err != nil {
		return err
	}
	v, err := s.deps.Reservations.Find(ctx, code, id)
	if err != nil {
		return err
	}
	setETag(c.w.Header(), v.Record().Version)
	return c.answer(http.StatusOK, showReservation(v))
}

func (s *Server) listRedemptions(ctx context.Context, c *call) error {
	code, err := c.code()
	if err != nil {
		return err
	}
	q, err := c.query()
	if err != nil {
		return err
	}
	status, err := q.status()
	if err != nil {
		return err
	}
	limit, err := q.limit()
	if err != nil {
		return err
	}
	before, err := q.redemptionCursor(code, status)
	if err != nil {
		return err
	}
	vs, more, err := s.deps.Reservations.List(ctx, code, status, before, limit)
	if err != nil {
		return err
	}
	page := listBody[reservationBody]{Items: make([]reservationBody, len(vs))}
	for i, v := range vs {
		page.Items[i] = showReservation(v)
	}
	if more {
		page.NextCursor = redemptionCursor(code, status, vs[len(vs)-1].Record().Version)
	}
	return c.answer(http.StatusOK, page)
}
