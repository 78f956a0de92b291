package voucher

import (
	"regexp"
	"strings"

	"voucherd/domain/fault"
)

// Code names a voucher: upper case, 1 to 32 characters. It holds no brace, so that it can stand in a Redis hash tag.
type Code string

// OrderID names an order of the shop: 1 to 64 characters, case-sensitive. It is the idempotency key of a reservation.
type OrderID string

// CustomerID names a customer of the shop: 1 to 2^63-1.
type CustomerID int64

var (
	codeForm  = regexp.MustCompile(`^[A-Z0-9][A-Z0-9_-]{0,31}$`)
	orderForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$`)
)

// ParseCode trims and upper-cases s and returns it as a Code; anything but the published form is an Invalid fault.
func ParseCode(s string) (Code, error) {
	s = upperASCII(strings.TrimSpace(s))
	if !codeForm.MatchString(s) {
		return "", fault.In("code", "must be 1 to 32 of A-Z, 0-9, _ and -, beginning with a letter or a digit")
	}
	return Code(s), nil
}

// upperASCII raises a-z alone: Unicode folding would turn letters such as U+0131 (dotless i) into ASCII, and so two
// spellings of a client into one code.
func upperASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

// ParseOrderID returns s as an OrderID; anything but the published form is an Invalid fault. Nothing is trimmed:
// the id must come back to the shop as it was.
func ParseOrderID(s string) (OrderID, error) {
	if !orderForm.MatchString(s) {
		return "", fault.In("orderId", "must be 1 to 64 of A-Z, a-z, 0-9, '.', '_', ':' and -, beginning with a letter or a digit")
	}
	return OrderID(s), nil
}

// ParseCustomerID returns n as a CustomerID; a number below 1 is an Invalid fault (there is no anonymous customer).
func ParseCustomerID(n int64) (CustomerID, error) {
	if n < 1 {
		return 0, fault.In("customerId", "must be a whole number from 1 to 9223372036854775807")
	}
	return CustomerID(n), nil
}
