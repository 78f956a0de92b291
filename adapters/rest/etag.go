package rest

import (
	"net/http"
	"strconv"
	"strings"

	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

// maxTags bounds the tags of one If-Match.
const maxTags = 64

// setETag names the version of the answered reservation: "<epoch>-<sequence>".
func setETag(h http.Header, v voucher.Version) {
	h["Etag"] = []string{`"` + v.String() + `"`}
}

// parseIfMatch reads If-Match as RFC 9110 has it: * or a list of tags. A weak tag fits nothing, nor does one that
// can't be ours; a header that is neither is an Invalid fault.
func parseIfMatch(lines []string) (voucher.Condition, error) {
	if len(lines) == 0 {
		return voucher.Condition{}, nil
	}
	list := strings.Join(lines, ",")
	if strings.Trim(list, " \t") == "*" {
		// A reservation that doesn't exist is 404 before this could matter.
		return voucher.Condition{}, nil
	}
	cond := voucher.Condition{Given: true}
	for tags := 0; ; {
		list = strings.TrimLeft(list, " \t,") // a list may have empty elements
		if list == "" && tags > 0 {
			return cond, nil
		}
		tag, weak, rest, ok := cutTag(list)
		tags++
		if !ok || tags > maxTags {
			return voucher.Condition{}, fault.In("If-Match", "must be * or a list of at most %d entity tags", maxTags)
		}
		if v, ours := parseVersion(tag); ours && !weak {
			cond.Versions = append(cond.Versions, v)
		}
		list = rest
	}
}

// cutTag takes the first tag off a list; the rest is empty or begins with its comma.
func cutTag(list string) (tag string, weak bool, rest string, ok bool) {
	list, weak = strings.CutPrefix(list, "W/")
	list, ok = strings.CutPrefix(list, `"`)
	if !ok {
		return "", false, "", false
	}
	tag, rest, ok = strings.Cut(list, `"`)
	rest = strings.TrimLeft(rest, " \t")
	if !ok || rest != "" && rest[0] != ',' {
		return "", false, "", false
	}
	for i := range len(tag) {
		if tag[i] <= ' ' || tag[i] == 0x7f {
			return "", false, "", false
		}
	}
	return tag, weak, rest, true
}

// parseVersion reads a version in the one spelling that setETag writes.
func parseVersion(tag string) (voucher.Version, bool) {
	e, s, ok := strings.Cut(tag, "-")
	if !ok {
		return voucher.Version{}, false
	}
	epoch, err1 := strconv.ParseInt(e, 10, 64)
	sequence, err2 := strconv.ParseInt(s, 10, 64)
	v := voucher.Version{Epoch: epoch, Sequence: sequence}
	return v, err1 == nil && err2 == nil && v.String() == tag
}
