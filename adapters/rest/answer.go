package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"

	"voucherd/application/port"
	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

// maxRetryAfter is the longest wait, in seconds, that a 503 asks for; it is drawn at random so that clients who were
// refused together don't come back together.
const maxRetryAfter = 3

// refusal is an error as a client sees it.
type refusal struct {
	status                       int
	code, reason, field, message string
}

// Error implements error.
func (r *refusal) Error() string { return r.code + ": " + r.message }

// The refusals that HTTP itself brings in.
var (
	errUnauthenticated = &refusal{status: http.StatusUnauthorized, code: "UNAUTHENTICATED", message: "a known bearer token is needed"}
	errForbidden       = &refusal{status: http.StatusForbidden, code: "FORBIDDEN", message: "this token doesn't allow this call"}
	errNoRoute         = &refusal{status: http.StatusNotFound, code: "NOT_FOUND", message: "there is nothing at this path"}
	errNoMethod        = &refusal{status: http.StatusMethodNotAllowed, code: "METHOD_NOT_ALLOWED", message: "this path has other methods, see Allow"}
	errTooLarge        = &refusal{status: http.StatusRequestEntityTooLarge, code: "BODY_TOO_LARGE", message: "the body may have 16384 bytes"}
	errMediaType       = &refusal{status: http.StatusUnsupportedMediaType, code: "UNSUPPORTED_MEDIA_TYPE", message: "the body must be application/json, in UTF-8 and not compressed"}
	errInternal        = &refusal{status: http.StatusInternalServerError, code: "INTERNAL", message: "something is wrong here, and has been logged under this requestId"}
)

// statuses maps what a refusal of the core means for its caller.
var statuses = map[fault.Kind]int{
	fault.Invalid:      http.StatusBadRequest,
	fault.NotFound:     http.StatusNotFound,
	fault.Conflict:     http.StatusConflict,
	fault.NotEligible:  http.StatusUnprocessableEntity,
	fault.Precondition: http.StatusPreconditionFailed,
	fault.Unavailable:  http.StatusServiceUnavailable,
}

// unavailable says what each of these errors tells a client; errors.Is, the first that fits.
var unavailable = []struct {
	err    error
	reason string
}{
	{port.ErrUnknown, voucher.ReasonOutcomeUnknown},
	{port.ErrOverloaded, voucher.ReasonOverloaded},
	{port.ErrStale, voucher.ReasonOverloaded},
	{port.ErrUnavailable, voucher.ReasonDependency},
	// The store contradicts itself: nothing happened, and somebody must look. The log says so, at level error.
	{port.ErrRefused, voucher.ReasonDependency},
	// Nobody classified these, so nothing can be ruled out.
	{context.DeadlineExceeded, voucher.ReasonOutcomeUnknown},
	{context.Canceled, voucher.ReasonOutcomeUnknown},
}

// translate is the one place where an error becomes an answer.
func translate(err error) *refusal {
	var own *refusal
	if errors.As(err, &own) {
		return own
	}
	// Also a fault inside port.ErrRefused: a constraint found it, where the decision should have.
	var f *fault.Error
	if errors.As(err, &f) {
		return translateFault(f)
	}
	for _, u := range unavailable {
		if errors.Is(err, u.err) {
			return translateFault(voucher.ErrUnavailable.With(u.reason))
		}
	}
	return errInternal
}

func translateFault(f *fault.Error) *refusal {
	status, ok := statuses[f.Kind]
	if !ok {
		return errInternal
	}
	return &refusal{status: status, code: f.Code, reason: f.Reason, field: f.Field, message: f.Message}
}

// errorBody is the body of every refusal.
type errorBody struct {
	Error     string `json:"error"`
	Message   string `json:"message"`
	Reason    string `json:"reason,omitzero"`
	Field     string `json:"field,omitzero"`
	RequestID string `json:"requestId"`
}

// refuse answers an error, logs it where somebody should know, and returns its code.
func (s *Server) refuse(c *call, route string, err error) string {
	r := translate(err)
	s.note(c, route, r, err)
	if c.w.Written() {
		return r.code // a defect after the answer: the status has gone out
	}
	h := c.w.Header()
	switch r.status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.Itoa(1+s.deps.IntN(maxRetryAfter)))
	}
	body := errorBody{Error: r.code, Message: r.message, Reason: r.reason, Field: r.field, RequestID: c.id}
	if err := c.answer(r.status, body); err != nil {
		s.deps.Log.Error("a refusal could not be written as JSON", zap.String("request_id", c.id), zap.Error(err))
	}
	return r.code
}

// note logs what is not the client's own affair.
func (s *Server) note(c *call, route string, r *refusal, err error) {
	fields := func() []zap.Field {
		return []zap.Field{
			zap.String("request_id", c.id), zap.String("route", route), zap.String("actor", c.actor),
			zap.Int("status", r.status), zap.String("code", r.code), zap.String("reason", r.reason), zap.Error(err),
		}
	}
	switch {
	case errors.Is(err, port.ErrRefused):
		s.often.Error("a constraint refused what was decided", fields()...)
	case r.status == http.StatusServiceUnavailable:
		s.often.Warn("request not served", fields()...)
	case r.status >= http.StatusInternalServerError:
		s.often.Error("request failed", fields()...)
	}
}

var jsonType = []string{"application/json"} // shared, like nosniff

// answer writes body as JSON. An error means that nothing has been written.
func (c *call) answer(status int, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	c.w.Header()["Content-Type"] = jsonType
	c.w.WriteHeader(status)
	// Whoever doesn't take the answer has gone; there is nobody to tell.
	_, _ = c.w.Write(b)
	return nil
}

// stamp writes a time as every answer has it: UTC, RFC 3339, exactly three decimals.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// stampIf is stamp, and empty for no time.
func stampIf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return stamp(t)
}
