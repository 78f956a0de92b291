// Package catalog holds the use cases about vouchers themselves: create, read, list and change them.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"voucherd/application/batch"
	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// writeTimeout bounds one write at its store. It is shorter than the shortest sensible request.
const writeTimeout = 1500 * time.Millisecond

// maxSweeps bounds how often one amendment is decided again because a batch of overdue uses was ended and there may be
// more. It is beyond what a write has time for: writeTimeout comes first.
const maxSweeps = 1000

// writeLimits bound the writes that wait. Those of one voucher run one after the other, as they would at its row, but
// so that no more than one of them holds a connection.
var writeLimits = batch.Limits{Batch: 1, PerKey: 256, Total: 1024}

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
	writes    *batch.Combiner[voucher.Code, write, struct{}]
}

// write changes the store. It goes on when nobody waits for it any more.
type write func(ctx context.Context) error

// New returns the use cases on the given ports.
func New(ledger port.Ledger, reader port.Reader, directory *Directory, clock port.Clock, s Settings) *Catalog {
	return &Catalog{
		ledger: ledger, reader: reader, directory: directory, clock: clock, settings: s,
		writes: batch.NewCombiner(writeLimits, serveWrites),
	}
}

func serveWrites(_ voucher.Code, ws []write) []batch.Result[struct{}] {
	out := make([]batch.Result[struct{}], len(ws))
	for i, w := range ws {
		ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
		out[i].Err = w(ctx)
		cancel()
	}
	return out
}

// store runs w and returns in the caller's time in any case: port.ErrOverloaded if w didn't run by then, port.ErrUnknown
// if it is under way.
func (c *Catalog) store(ctx context.Context, code voucher.Code, w write) error {
	_, err := c.writes.Do(ctx, code, w)
	return err
}

// Wait returns when no write waits or is under way.
func (c *Catalog) Wait() { c.writes.Wait() }

// Queues returns the state of the queues by name: what waits, and what was turned away.
func (c *Catalog) Queues() map[string]func() (waiting int, turnedAway uint64) {
	return map[string]func() (int, uint64){"catalog": c.writes.Stats}
}

// Create stores a new voucher and returns it; t.Mode may be empty for the default. Errors: an Invalid fault with the
// first wrong field, MODE_UNAVAILABLE, VOUCHER_EXISTS.
func (c *Catalog) Create(ctx context.Context, code voucher.Code, t voucher.Terms, actor string) (voucher.Voucher, error) {
	if t.Mode == "" {
		t.Mode = c.settings.DefaultMode
	}
	v, err := voucher.New(code, t, c.clock.Now())
	if err != nil {
		return voucher.Voucher{}, err
	}
	if !c.serves(t.Mode) {
		if _, err := c.Find(ctx, code); !errors.Is(err, voucher.ErrVoucherNotFound) {
			return voucher.Voucher{}, cmp.Or(err, error(voucher.ErrVoucherExists))
		}
		return voucher.Voucher{}, voucher.ErrModeUnavailable
	}
	err = c.store(ctx, code, func(ctx context.Context) error {
		if err := c.ledger.Create(ctx, v, actor); err != nil {
			return err
		}
		c.directory.Remember(v)
		return nil
	})
	if err != nil {
		return voucher.Voucher{}, err
	}
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
	a.ModeRefusal = c.modeRefusal(code, a.Mode)
	var amended voucher.Voucher // read only after an answer: without one the write may be under way
	err := c.store(ctx, code, func(ctx context.Context) error {
		var err error
		if amended, err = c.amend(ctx, code, a, actor); err != nil {
			return err
		}
		c.directory.Remember(amended)
		return nil
	})
	if err != nil {
		return voucher.Voucher{}, err
	}
	return amended, nil
}

// amend decides until the decision is final: as long as more overdue uses may be in the way of a lower limit, each
// transaction ends some of them.
func (c *Catalog) amend(ctx context.Context, code voucher.Code, a voucher.Amendment, actor string) (voucher.Voucher, error) {
	for range maxSweeps {
		var amended voucher.Voucher
		var refusal error
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
		if !errors.Is(refusal, voucher.ErrUndecided) {
			return amended, refusal
		}
	}
	return voucher.Voucher{}, port.ErrOverloaded
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
