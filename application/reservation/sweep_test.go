package reservation_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/application/reservation"
	"voucherd/domain/voucher"
)

// endless finds more overdue uses each time, and tells of the first n times.
type endless struct {
	n     int
	asked int
	then  func()
}

func (e *endless) Reserve(context.Context, voucher.Code, []voucher.Request) ([]voucher.Outcome, error) {
	if e.asked++; e.asked == e.n {
		e.then()
	}
	return []voucher.Outcome{{Verdict: voucher.Undecided}}, nil
}

// While it isn't decided nobody is refused; it ends with the caller's time, or with our patience.
func TestAnUndecidedReserveIsBounded(t *testing.T) {
	w := newWorld(t)
	serve := func(ctx context.Context, e *endless) error {
		s := reservation.New(w.shop, w.shop, w.directory, map[voucher.Mode]reservation.Decider{voucher.Standard: e}, w.clock, ttl)
		_, err := s.Reserve(ctx, wish("A", "a", 1))
		s.Wait()
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := &endless{n: 5, then: cancel}
	err := serve(ctx, e)
	require.NotErrorIs(t, err, voucher.ErrOutOfStock)
	require.Error(t, err)
	require.Equal(t, 5, e.asked)

	e = &endless{}
	require.ErrorIs(t, serve(t.Context(), e), port.ErrOverloaded)
	require.Equal(t, 1000, e.asked)
}
