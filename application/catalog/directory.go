package catalog

import (
	"context"
	"errors"
	"time"

	"voucherd/application/batch"
	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// Bounds of the directory.
const (
	// rememberedVouchers bounds the vouchers that one process keeps in mind.
	rememberedVouchers = 10_000
	// rememberedUnknown bounds the unknown codes kept in mind, and unknownFor is how long one is: a voucher created
	// by another process is found here that much later at most.
	rememberedUnknown = 10_000
	unknownFor        = time.Second
	// lookupTimeout bounds one look-up of a batch of codes.
	lookupTimeout = 1500 * time.Millisecond
)

// lookupLimits bound the look-ups that are taken together.
var lookupLimits = batch.Limits{Batch: 512, PerKey: 4096, Total: 4096}

// Directory answers cheaply whether a code exists and in which mode it is, in front of the hot path: codes that are
// looked up at the same time share one read, known ones cost nothing, and a flood of unknown ones stays in bounds.
// What it says of a voucher may be old; the ledger's transaction is the judge. Safe for concurrent use.
type Directory struct {
	clock   port.Clock
	lookups *batch.Combiner[struct{}, voucher.Code, voucher.Voucher]
	known   *recent[voucher.Code, voucher.Voucher]
	unknown *recent[voucher.Code, time.Time] // until when
}

// NewDirectory returns an empty directory in front of reader.
func NewDirectory(reader port.Reader, clock port.Clock) *Directory {
	d := &Directory{
		clock:   clock,
		known:   newRecent[voucher.Code, voucher.Voucher](rememberedVouchers),
		unknown: newRecent[voucher.Code, time.Time](rememberedUnknown),
	}
	d.lookups = batch.NewCombiner(lookupLimits, func(_ struct{}, codes []voucher.Code) []batch.Result[voucher.Voucher] {
		return d.read(reader, codes)
	})
	return d
}

// Lookup returns the voucher as it was seen last. Errors: voucher.ErrVoucherNotFound and those of port.Reader.
func (d *Directory) Lookup(ctx context.Context, code voucher.Code) (voucher.Voucher, error) {
	if v, ok := d.known.Get(code); ok {
		return v, nil
	}
	if until, ok := d.unknown.Get(code); ok && d.clock.Now().Before(until) {
		return voucher.Voucher{}, voucher.ErrVoucherNotFound
	}
	v, err := d.lookups.Do(ctx, struct{}{}, code)
	if errors.Is(err, port.ErrUnknown) {
		// The caller's time ended during the read. Reading does nothing, so nothing is unknown.
		err = port.ErrUnavailable
	}
	return v, err
}

// Remember notes a voucher that was just created or read.
func (d *Directory) Remember(v voucher.Voucher) {
	d.known.Add(v.Code(), v)
	d.unknown.Remove(v.Code())
}

// Forget makes the next Lookup of code read again.
func (d *Directory) Forget(code voucher.Code) { d.known.Remove(code) }

// Wait returns when no look-up is under way.
func (d *Directory) Wait() { d.lookups.Wait() }

func (d *Directory) read(reader port.Reader, codes []voucher.Code) []batch.Result[voucher.Voucher] {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	out := make([]batch.Result[voucher.Voucher], len(codes))
	vs, err := reader.Vouchers(ctx, codes)
	if err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out
	}
	found := make(map[voucher.Code]voucher.Voucher, len(vs))
	for _, v := range vs {
		found[v.Code()] = v
		d.Remember(v)
	}
	until := d.clock.Now().Add(unknownFor)
	for i, code := range codes {
		v, ok := found[code]
		if !ok {
			d.unknown.Add(code, until)
			out[i].Err = voucher.ErrVoucherNotFound
			continue
		}
		out[i].Answer = v
	}
	return out
}
