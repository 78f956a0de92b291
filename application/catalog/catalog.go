// Package catalog holds the use cases about vouchers themselves: create, read, list and change them.
package catalog

import (
	"context"
	"slices"
	"time"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// Settings are what the configuration says about vouchers.
type Settings struct {
	DefaultMode voucher.Mode                  // of a voucher created without one
	Configured  map[voucher.Code]voucher.Mode // these codes take their mode from here alone
	Served      []voucher.Mode                // modes that this process can serve
}

// Catalog is the use cases. Safe for concurrent use. Beside the errors that a method names it passes on those of the
// ports.
type Catalog struct {
	ledger    port.Ledger
	reader    port.Reader
	directory *Directory
	clock     port.Clock
	settings  Settings
}

// New returns the use cases on the given ports.
func New(ledger port.Ledger, reader port.Reader, directory *Directory, clock port.Clock, s Settings) *Catalog {
	return &Catalog{ledger: ledger, reader: reader, directory: directory, clock: clock, settings: s}
}

// Create stores a new voucher and returns it; t.Mode may be empty for the default. Errors: an Invalid fault with the
// first wrong field, MODE_SET_BY_CONFIG, MODE_UNAVAILABLE, VOUCHER_EXISTS.
func (c *Catalog) Create(ctx context.Context, code voucher.Code, t voucher.Terms, actor string) (voucher.Voucher, error) {
	if t.Mode == "" {
		t.Mode = c.settings.DefaultMode
	}
	v, err := voucher.New(code, t, c.clock.Now())
	if err != nil {
		return voucher.Voucher{}, err
	}
	if !c.serves(t.Mode) {
		return voucher.Voucher{}, voucher.ErrModeUnavailable
	}
	if err := c.ledger.Create(ctx, v, actor); err != nil {
		return voucher.Voucher{}, err
	}
	c.directory.Remember(v)
	return v, nil
}

// Find returns the voucher as stored. Error: VOUCHER_NOT_FOUND.
func (c *Catalog) Find(ctx context.Context, code voucher.Code) (voucher.Voucher, error) {
	vs, err := c.reader.Vouchers(ctx, []voucher.Code{code})
	if err != nil {
		return voucher.Voucher{}, err
	}
	if len(vs) == 0 {
		return voucher.Voucher{}, voucher.ErrVoucherNotFound
	}
	return vs[0], nil
}

// List returns up to limit vouchers in ascending order of code, those after the given one; more says whether others follow.
func (c *Catalog) List(ctx context.Context, after voucher.Code, limit int) (vs []voucher.Voucher, more bool, err error) {
	vs, err = c.reader.List(ctx, after, limit+1)
	if err != nil {
		return nil, false, err
	}
	return vs[:min(limit, len(vs))], len(vs) > limit, nil
}

// Amend changes terms of a voucher, all or nothing, and returns it as it is then. The change binds every request
// begun after Amend has returned, on every process. Errors: VOUCHER_NOT_FOUND, an Invalid fault with the first wrong
// field, LIMIT_BELOW_USED, MODE_SET_BY_CONFIG, MODE_UNAVAILABLE.
func (c *Catalog) Amend(ctx context.Context, code voucher.Code, a voucher.Amendment, actor string) (voucher.Voucher, error) {
	var amended voucher.Voucher
	var refusal error
	a.ModeRefusal = c.modeRefusal(code, a.Mode)
	err := c.ledger.Update(ctx, port.Step{
		Code:    code,
		Overdue: func(l voucher.Loaded) bool { return a.TotalLimit != nil && *a.TotalLimit < l.Voucher.Used() },
		Decide: func(s *voucher.State, now time.Time) {
			refusal = s.Amend(a, actor, now)
			amended = s.Voucher()
		},
	})
	if err != nil {
		return voucher.Voucher{}, err
	}
	if refusal != nil {
		return voucher.Voucher{}, refusal
	}
	c.directory.Remember(amended)
	return amended, nil
}

// modeRefusal says why the configuration or this process doesn't let the voucher have the mode.
func (c *Catalog) modeRefusal(code voucher.Code, m *voucher.Mode) error {
	if m == nil {
		return nil
	}
	if _, ok := c.settings.Configured[code]; ok {
		return voucher.ErrModeSetByConfig
	}
	if !c.serves(*m) {
		return voucher.ErrModeUnavailable
	}
	return nil
}

func (c *Catalog) serves(m voucher.Mode) bool { return slices.Contains(c.settings.Served, m) }
