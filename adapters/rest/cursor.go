package rest

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

const (
	// defaultLimit and maxLimit bound a page of a list.
	defaultLimit, maxLimit = 50, 200
	// maxCursor bounds a cursor, in characters; ours are shorter.
	maxCursor = 200
	// The first part of a cursor says of which list it is, and in which form. A form that we no longer write is
	// refused like any other bad cursor.
	vouchersV1, redemptionsV1 = "v1", "r1"
)

// query is the parameters of a list. Those that the list doesn't know are ignored.
type query url.Values

func (c *call) query() (query, error) {
	if c.r.URL.RawQuery == "" {
		return query{}, nil
	}
	q, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, fault.In("query", "is badly encoded")
	}
	return query(q), nil
}

// one returns a parameter's value; given is false where there is none.
func (q query) one(name string) (value string, given bool, err error) {
	switch vs := q[name]; len(vs) {
	case 0:
		return "", false, nil
	case 1:
		return vs[0], true, nil
	}
	return "", false, fault.In(name, "must be given once")
}

func (q query) limit() (int, error) {
	s, given, err := q.one("limit")
	if err != nil || !given {
		return defaultLimit, err
	}
	n, err := strconv.Atoi(s)
	// One spelling a number: +5 and 05 are typing errors.
	if err != nil || strconv.Itoa(n) != s || n < 1 || n > maxLimit {
		return 0, fault.In("limit", "must be a whole number from 1 to %d", maxLimit)
	}
	return n, nil
}

func (q query) status() (voucher.Status, error) {
	s, given, err := q.one("status")
	if err != nil || !given {
		return "", err
	}
	if !slices.Contains(voucher.Statuses(), voucher.Status(s)) {
		return "", fault.In("status", "must be one of RESERVED, CONFIRMED, RELEASED")
	}
	return voucher.Status(s), nil
}

// voucherCursor marks the page that begins after the code.
func voucherCursor(after voucher.Code) string { return seal(vouchersV1, string(after)) }

func (q query) voucherCursor() (voucher.Code, error) {
	s, parts, err := q.cursor()
	if err != nil || s == "" {
		return "", err
	}
	if len(parts) == 2 {
		if code, err := voucher.ParseCode(parts[1]); err == nil && voucherCursor(code) == s {
			return code, nil
		}
	}
	return "", badCursor()
}

// redemptionCursor marks the page that begins below the version, of one voucher's redemptions in one status.
func redemptionCursor(code voucher.Code, status voucher.Status, below voucher.Version) string {
	return seal(redemptionsV1, string(code), string(status),
		strconv.FormatInt(below.Epoch, 10), strconv.FormatInt(below.Sequence, 10))
}

func (q query) redemptionCursor(code voucher.Code, status voucher.Status) (*voucher.Version, error) {
	s, parts, err := q.cursor()
	if err != nil || s == "" {
		return nil, err
	}
	if len(parts) == 5 {
		epoch, err1 := strconv.ParseInt(parts[3], 10, 64)
		sequence, err2 := strconv.ParseInt(parts[4], 10, 64)
		below := voucher.Version{Epoch: epoch, Sequence: sequence}
		if err1 == nil && err2 == nil && redemptionCursor(code, status, below) == s {
			return &below, nil
		}
	}
	return nil, badCursor()
}

// cursor returns the cursor and its parts. Whoever takes them makes the cursor anew from what they mean and compares:
// so that one of another list, voucher or status, and one that was meddled with, all differ.
func (q query) cursor() (s string, parts []string, err error) {
	s, given, err := q.one("cursor")
	if err != nil || !given {
		return "", nil, err
	}
	if s == "" || len(s) > maxCursor {
		return "", nil, badCursor()
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return "", nil, badCursor()
	}
	return s, strings.Split(string(b), "|"), nil
}

// seal puts parts, which hold no |, into a cursor.
func seal(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "|")))
}

func badCursor() error {
	return fault.In("cursor", "must be the nextCursor of a page of this very list")
}
