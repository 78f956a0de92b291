package rest

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"voucherd/application/port"
	"voucherd/domain/fault"
)

// maxBody bounds a request's body, in bytes.
const maxBody = 16 << 10

// parser is what reading one body needs; the hot path borrows it and gives it back before it waits for anything.
type parser struct {
	body [maxBody + 1]byte // one more, which tells too much from just enough
	dec  jsontext.Decoder
	form form
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

// decode reads the request's body and has take take its fields out of it, in the order of the published table; fields
// names them all. The error is the first fault: size, type, form as a whole, fields, unknown fields.
func (c *call) decode(fields []string, take func(*form)) error {
	p, ok := parsers.Get().(*parser)
	if !ok {
		return errInternal
	}
	defer parsers.Put(p)
	body, err := c.read(p.body[:])
	if err != nil {
		return err
	}
	if !isJSON(c.r.Header) {
		return errMediaType
	}
	p.form.reset(fields)
	if !p.parse(body) {
		return fault.In("body", "must be one JSON object in UTF-8, and nothing else")
	}
	take(&p.form)
	return p.form.fault()
}

// read returns the body, in buf, which has room for one byte too many.
func (c *call) read(buf []byte) ([]byte, error) {
	if c.r.ContentLength > maxBody {
		return nil, c.refuseBody(errTooLarge)
	}
	for n := 0; n < len(buf); {
		m, err := c.r.Body.Read(buf[n:])
		n += m
		switch {
		case err == nil:
		case err == io.EOF && n <= maxBody:
			c.readUntil(time.Time{})
			return buf[:n], nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, c.refuseBody(port.ErrOverloaded)
		case n <= maxBody:
			return nil, c.refuseBody(fault.In("body", "broke off or is badly framed"))
		}
	}
	return nil, c.refuseBody(errTooLarge)
}

// refuseBody gives up a connection whose body is not read to its end.
func (c *call) refuseBody(err error) error {
	c.w.Header().Set("Connection", "close")
	return err
}

// isJSON reports whether the headers announce a body that the decoder can read.
func isJSON(h http.Header) bool {
	types, coding := h["Content-Type"], h["Content-Encoding"]
	if len(types) != 1 || len(coding) > 1 || len(coding) == 1 && !strings.EqualFold(coding[0], "identity") {
		return false
	}
	if types[0] == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/json" {
		return false
	}
	charset, given := params["charset"]
	return !given || strings.EqualFold(charset, "utf-8")
}

// parse sorts the members of body into the form and reports whether body is one JSON object.
func (p *parser) parse(body []byte) bool {
	// The form tells a repeated field by its name, which the decoder would only call a syntax error.
	p.dec.Reset(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	if t, err := p.dec.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	for p.dec.PeekKind() != '}' {
		name, err := p.dec.ReadValue()
		if err != nil {
			return false
		}
		at := p.form.find(name)
		value, err := p.dec.ReadValue()
		if err != nil {
			return false
		}
		if at >= 0 {
			// Of what the decoder returns nothing outlives its next call; the body does.
			end := p.dec.InputOffset()
			p.form.put(at, body[end-int64(len(value)):end])
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return false
	}
	_, err := p.dec.ReadToken()
	return errors.Is(err, io.EOF)
}
