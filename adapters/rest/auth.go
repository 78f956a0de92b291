package rest

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Token is a secret that callers show, and the name under which the history knows them.
type Token struct{ Name, Token string }

// Tokens are the known tokens. Checkout may reserve, confirm, release, and read one reservation and one voucher;
// Admin may do everything.
type Tokens struct{ Admin, Checkout []Token }

// anonymous is the actor where there are no tokens.
const anonymous = "anonymous"

// guard knows the tokens by their digests: they have one length, so that comparing tells nothing about them.
type guard struct{ holders []holder }

type holder struct {
	digest [sha256.Size]byte
	name   string
	admin  bool
}

func newGuard(t Tokens) guard {
	var g guard
	for _, x := range t.Checkout {
		g.holders = append(g.holders, holder{digest: sha256.Sum256([]byte(x.Token)), name: x.Name})
	}
	for _, x := range t.Admin { // last, so that a token in both lists is an admin's
		g.holders = append(g.holders, holder{digest: sha256.Sum256([]byte(x.Token)), name: x.Name, admin: true})
	}
	return g
}

// admit says whether the caller may call a route of this audience, and names the actor. It looks at nothing but the
// token, so that its answer tells nothing about what exists.
func (g guard) admit(a audience, c *call) error {
	if a == everyone || len(g.holders) == 0 {
		c.actor = anonymous
		return nil
	}
	h := g.identify(c.r.Header)
	switch {
	case h == nil:
		return errUnauthenticated
	case a == admin && !h.admin:
		return errForbidden
	}
	c.actor = h.name
	return nil
}

// identify returns the holder of the shown token, nil if there is none. It always looks at all of them.
func (g guard) identify(h http.Header) *holder {
	token, ok := bearer(h["Authorization"])
	if !ok {
		return nil
	}
	digest := sha256.Sum256([]byte(token))
	var found *holder
	for i := range g.holders {
		if subtle.ConstantTimeCompare(digest[:], g.holders[i].digest[:]) == 1 {
			found = &g.holders[i]
		}
	}
	return found
}

// bearer returns the token of the one Authorization header.
func bearer(values []string) (string, bool) {
	const scheme = "Bearer "
	if len(values) != 1 || len(values[0]) <= len(scheme) || !strings.EqualFold(values[0][:len(scheme)], scheme) {
		return "", false
	}
	return strings.TrimLeft(values[0][len(scheme):], " "), true
}
