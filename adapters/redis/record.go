package redis

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// A record is what the orders hash keeps of an order; scripts/prelude.lua says how it is laid out.
const (
	recordFields = 10
	flagHeld     = "L"
	flagReminder = "C"
)

var errRecord = errors.New("a record that can't be read")

// encode returns the record of a hold that is loaded.
func encode(h port.Hold) string {
	flag := flagHeld
	if h.Conflicted {
		flag = flagReminder
	}
	return strings.Join([]string{
		flag, number(h.Version.Epoch), number(h.Version.Sequence), number(int64(h.Customer)), number(h.OrderAmount),
		number(h.DiscountAmount), number(h.PerUserLimit), millis(h.CreatedAt), millis(h.ExpiresAt), h.Actor,
	}, "|")
}

func decode(order voucher.OrderID, record string) (port.Hold, error) {
	// The actor comes last, as it may hold any character.
	parts := strings.SplitN(record, "|", recordFields)
	if len(parts) != recordFields {
		return port.Hold{}, errRecord
	}
	var n [recordFields - 2]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(parts[i+1], 10, 64); err != nil {
			return port.Hold{}, errRecord
		}
	}
	return port.Hold{
		Order: order, Version: voucher.Version{Epoch: n[0], Sequence: n[1]}, Customer: voucher.CustomerID(n[2]),
		OrderAmount: n[3], DiscountAmount: n[4], PerUserLimit: n[5],
		CreatedAt: time.UnixMilli(n[6]).UTC(), ExpiresAt: time.UnixMilli(n[7]).UTC(),
		Actor: parts[recordFields-1], Conflicted: parts[0] == flagReminder,
	}, nil
}

// version is how scripts compare the version of a record.
func version(v voucher.Version) string { return number(v.Epoch) + "|" + number(v.Sequence) + "|" }

func number(n int64) string { return strconv.FormatInt(n, 10) }

func millis(t time.Time) string { return number(t.UnixMilli()) }

func micros(d time.Duration) string { return number(d.Microseconds()) }

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// terms appends the voucher in the order that scripts expect.
func terms(args []any, as port.Standing) []any {
	t := as.Terms
	return append(args, number(as.Change), number(t.TotalLimit), number(t.PerUserLimit), flag(t.Paused),
		millis(t.StartsAt), millis(t.EndsAt), number(t.MinOrderAmount), number(t.DiscountAmount))
}

// refs appends order and version of each reservation.
func refs(args []any, rs []port.GateRef) []any {
	for _, r := range rs {
		args = append(args, string(r.Order), version(r.Version))
	}
	return args
}
