package rest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"voucherd/adapters/rest"
	"voucherd/application/port"
	"voucherd/application/reservation"
	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

// finds answers each reading of a reservation in its own way.
type finds struct {
	rest.Reservations
	find func(context.Context) (voucher.Reservation, error)
}

func (f finds) Find(ctx context.Context, _ voucher.Code, _ voucher.OrderID) (voucher.Reservation, error) {
	return f.find(ctx)
}

func (f finds) Reserve(ctx context.Context, _ reservation.Reserve) (voucher.Reservation, error) {
	return f.find(ctx)
}

func (f finds) Confirm(ctx context.Context, _ voucher.Code, _ voucher.OrderID, _ voucher.Condition, _ string) (voucher.Reservation, error) {
	return f.find(ctx)
}

// failing returns the interface over a use case that answers err, and what it logs.
func failing(t *testing.T, find func(context.Context) (voucher.Reservation, error)) (*api, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	return newAPI(t, func(d *rest.Deps) {
		d.Reservations = finds{find: find}
		d.Log = zap.New(core)
	}), logs
}

func answering(err error) func(context.Context) (voucher.Reservation, error) {
	return func(context.Context) (voucher.Reservation, error) { return voucher.Reservation{}, err }
}

const secret = "SELECT * FROM voucher at db-7.internal:5432"

func TestEveryFaultHasItsAnswer(t *testing.T) {
	want := map[string]int{
		"VOUCHER_EXISTS": 409, "VOUCHER_NOT_FOUND": 404, "LIMIT_BELOW_USED": 409, "MODE_SET_BY_CONFIG": 409, "MODE_UNAVAILABLE": 409,
		"OUT_OF_STOCK": 409, "ALREADY_USED": 409, "ORDER_CONFLICT": 409, "NOT_ELIGIBLE": 422, "RESERVATION_NOT_FOUND": 404,
		"RESERVATION_RELEASED": 409, "ALREADY_CONFIRMED": 409, "PRECONDITION_FAILED": 412, "UNAVAILABLE": 503, "INVALID_REQUEST": 400,
	}
	require.Len(t, voucher.Faults(), len(want))
	for _, f := range voucher.Faults() {
		err := fmt.Errorf("%s: %w", secret, f)
		a, logs := failing(t, answering(err))
		// The confirm is the call whose document has the most answers; the code is what is looked at here.
		r := a.callUndocumented(http.MethodPost, "/vouchers/SALE/reservations/o/confirm")
		r.refused(want[f.Code], f.Code, f.Field, f.Reason)
		require.NotContains(t, r.body, secret)
		require.Equal(t, f.Code == "UNAVAILABLE", logs.Len() == 1)
	}
}

func TestErrorsOfThePorts(t *testing.T) {
	for name, c := range map[string]struct {
		err          error
		status       int
		code, reason string
		level        zapcore.Level
	}{
		"unknown":            {port.ErrUnknown, 503, "UNAVAILABLE", "OUTCOME_UNKNOWN", zapcore.WarnLevel},
		"overloaded":         {port.ErrOverloaded, 503, "UNAVAILABLE", "OVERLOADED", zapcore.WarnLevel},
		"stale":              {port.ErrStale, 503, "UNAVAILABLE", "OVERLOADED", zapcore.WarnLevel},
		"unavailable":        {port.ErrUnavailable, 503, "UNAVAILABLE", "DEPENDENCY", zapcore.WarnLevel},
		"deadline":           {context.DeadlineExceeded, 503, "UNAVAILABLE", "OUTCOME_UNKNOWN", zapcore.WarnLevel},
		"canceled":           {context.Canceled, 503, "UNAVAILABLE", "OUTCOME_UNKNOWN", zapcore.WarnLevel},
		"refused":            {port.ErrRefused, 503, "UNAVAILABLE", "DEPENDENCY", zapcore.ErrorLevel},
		"refused by a limit": {fmt.Errorf("%w: %w", port.ErrRefused, voucher.ErrOutOfStock), 409, "OUT_OF_STOCK", "", zapcore.ErrorLevel},
		"anything":           {errors.New("what"), 500, "INTERNAL", "", zapcore.ErrorLevel},
		"a fault of no kind": {&fault.Error{Code: "ODD", Message: secret}, 500, "INTERNAL", "", zapcore.ErrorLevel},
	} {
		t.Run(name, func(t *testing.T) {
			a, logs := failing(t, answering(fmt.Errorf("%s: %w", secret, c.err)))
			r := a.reserve("SALE", order("1", "o"), "X-Request-Id", "the-id")
			r.refused(c.status, c.code, "", c.reason)
			require.NotContains(t, r.body, "internal:")
			require.Equal(t, 1, logs.Len())
			e := logs.All()[0]
			require.Equal(t, c.level, e.Level)
			require.Equal(t, "the-id", e.ContextMap()["request_id"])
			require.Contains(t, e.ContextMap()["error"], secret, "the cause is in the log")
		})
	}
}

func TestAnOutageDoesNotFloodTheLog(t *testing.T) {
	a, logs := failing(t, answering(port.ErrUnavailable))
	waits := map[string]int{}
	for range 500 {
		waits[a.get("/vouchers/SALE/reservations/o").header.Get("Retry-After")]++
	}
	require.Less(t, logs.Len(), 200)
	require.Len(t, waits, 3, "all of 1, 2 and 3 are drawn")
}

func TestSuccessIsNotLogged(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	a := newAPI(t, func(d *rest.Deps) { d.Log = zap.New(core) })
	a.voucher("SALE", "")
	require.Equal(t, 201, a.reserve("SALE", order("1", "o")).status)
	a.reserve("SALE", order("1", "p")).refused(409, "ALREADY_USED", "", "")
	require.Zero(t, logs.Len())
}

func TestAPanicIsA500(t *testing.T) {
	a, logs := failing(t, func(context.Context) (voucher.Reservation, error) { panic(secret) })
	for range 3 {
		r := a.get("/vouchers/SALE/reservations/o")
		r.refused(500, "INTERNAL", "", "")
		require.NotContains(t, r.body, secret)
		require.NotContains(t, r.body, "goroutine")
	}
	require.Equal(t, 3, logs.Len())
	require.Contains(t, logs.All()[0].ContextMap()["error"], "answer_test.go", "the stack is in the log")
	require.Equal(t, observation{"GET /vouchers/{code}/reservations/{orderId}", 500, "INTERNAL"}, a.last())
}

func TestAHandlerMayAbort(t *testing.T) {
	a, _ := failing(t, func(context.Context) (voucher.Reservation, error) { panic(http.ErrAbortHandler) })
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { a.get("/vouchers/SALE/reservations/o") })
}
