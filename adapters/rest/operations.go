package rest

import (
	"context"
	_ "embed" // openapi.yaml
	"net/http"

	"voucherd/domain/voucher"
)

//go:embed openapi.yaml
var document []byte

// Document returns the OpenAPI document of the interface, as /openapi.yaml serves it.
func Document() []byte { return document }

// stateBody answers /healthz and /readyz.
type stateBody struct {
	Status       string            `json:"status"`
	Dependencies map[string]string `json:"dependencies,omitempty"`
}

func (s *Server) healthz(_ context.Context, c *call) error {
	return c.answer(http.StatusOK, stateBody{Status: "ok"})
}

// errUnready answers /readyz while the process starts or stops.
var errUnready = &refusal{
	status: http.StatusServiceUnavailable, code: voucher.ErrUnavailable.Code, reason: voucher.ReasonOverloaded,
	message: "the process starts or stops and is to get no new requests",
}

func (s *Server) readyz(ctx context.Context, c *call) error {
	if !s.ready.Load() {
		return errUnready
	}
	body := stateBody{Status: "ready", Dependencies: map[string]string{}}
	for _, d := range s.deps.Ready(ctx).Dependencies {
		body.Dependencies[d.Name] = "down"
		if d.Up {
			body.Dependencies[d.Name] = "up"
		}
	}
	return c.answer(http.StatusOK, body)
}

func (s *Server) metrics(ctx context.Context, c *call) error {
	if s.deps.Metrics == nil {
		return errNoRoute
	}
	s.deps.Metrics.ServeHTTP(c.w, c.r.WithContext(ctx))
	return nil
}

func (s *Server) openapi(_ context.Context, c *call) error {
	c.w.Header().Set("Content-Type", "application/yaml")
	_, _ = c.w.Write(document) // whoever doesn't take it has gone
	return nil
}
