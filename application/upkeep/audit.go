package upkeep

import (
	"context"

	"voucherd/application/port"
	"voucherd/domain/audit"
	"voucherd/domain/voucher"
)

// Audit recomputes a voucher from its history alone and compares the result with what is stored, as of one instant;
// it may run beside a sale. Errors: voucher.ErrVoucherNotFound and those of port.Books.
func Audit(ctx context.Context, books port.Books, code voucher.Code) (audit.Report, error) {
	a := audit.New()
	if err := books.Read(ctx, code, a); err != nil {
		return audit.Report{}, err
	}
	return a.Report(), nil
}
