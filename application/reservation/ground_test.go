package reservation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/application/reservation"
	"voucherd/domain/voucher"
)

// The voucher was seen in a mode that nobody here serves, and has left it on another process.
func TestAModeThatIsServedAgainIsNoticed(t *testing.T) {
	w := newWorld(t)
	_, err := w.Reserve(t.Context(), wish("FLASH", "a", 1))
	require.ErrorIs(t, err, voucher.ErrUnavailable)
	require.NoError(t, w.shop.Store.Update(t.Context(), port.Step{Code: "FLASH", Decide: func(s *voucher.State, now time.Time) {
		require.NoError(t, s.Amend(voucher.Amendment{Mode: new(voucher.Standard)}, "admin", now))
	}}))
	w.reserved(t, "FLASH", "a", 1)
}

// moving is a ledger whose transaction is run twice, as after a conflict, with the voucher gone to another mode between
// the runs: the first run's outcome must not be told.
type moving struct {
	port.Ledger
	between func()
}

func (m moving) Update(ctx context.Context, step port.Step) error {
	decide := step.Decide
	// The first run comes to nothing: it is decided on a copy.
	v, err := voucher.New(step.Code, voucher.Terms{
		DiscountAmount: 1, TotalLimit: 9, PerUserLimit: 9, StartsAt: t0, EndsAt: t0.Add(time.Hour), Mode: voucher.Standard,
	}, t0)
	if err != nil {
		return err
	}
	decide(voucher.NewState(voucher.Loaded{Voucher: v}), t0)
	m.between()
	return m.Ledger.Update(ctx, step)
}

func TestAnOutcomeOfARunThatCameToNothingIsNotTold(t *testing.T) {
	w := newWorld(t)
	d := reservation.Standard{Ledger: moving{w.shop.Store, func() {
		require.NoError(t, w.shop.Store.Update(t.Context(), port.Step{Code: "B", Decide: func(s *voucher.State, now time.Time) {
			require.NoError(t, s.Amend(voucher.Amendment{Mode: new(voucher.FlashSync)}, "admin", now))
		}}))
	}}}
	req, err := voucher.NewRequest(1, "a", 5000, ttl, "shop")
	require.NoError(t, err)
	_, err = d.Reserve(t.Context(), "B", []voucher.Request{req})
	require.ErrorIs(t, err, port.ErrStale)
}
