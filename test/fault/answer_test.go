package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The verbs of the load.
const (
	reserving  = "reserve"
	confirming = "confirm"
	releasing  = "release"
	aside      = "aside" // whatever else is asked meanwhile
)

// answer is what a client got for one request.
type answer struct {
	verb         string
	node         int
	began        time.Time
	took         time.Duration
	status       int // 0: none came
	code, reason string
	retryAfter   string
	body         string
	err          error
	excused      bool // no answer came, and the test itself is why
}

func (a answer) String() string {
	return fmt.Sprintf("%s at %d, %v: %d %s %s %v %s", a.verb, a.node, a.took.Round(time.Millisecond), a.status, a.code,
		a.reason, a.err, a.body)
}

// decided says whether the service has told what it did.
func (a answer) decided() bool { return a.status != 0 && a.status < http.StatusInternalServerError }

// unclear says whether the request may have taken effect although nobody was told so.
func (a answer) unclear() bool {
	return a.err != nil || a.status == http.StatusServiceUnavailable && a.reason == "OUTCOME_UNKNOWN"
}

// refused says whether a limit or the like said no.
func (a answer) refused() bool {
	return a.verb == reserving && (a.status == http.StatusConflict || a.status == http.StatusUnprocessableEntity)
}

// complaint is what is wrong with the answer as such, "" if nothing is.
func (a answer) complaint() string {
	const longest = 3
	reasons := []string{"OVERLOADED", "DEPENDENCY", "OUTCOME_UNKNOWN"}
	switch {
	case a.took > requestTimeout+slack:
		return "too late"
	case a.err != nil && !a.excused:
		return "no answer"
	case a.err != nil:
		return ""
	case a.status == http.StatusServiceUnavailable:
		if a.code != "UNAVAILABLE" || !slices.Contains(reasons, a.reason) ||
			len(a.retryAfter) != 1 || a.retryAfter < "1" || a.retryAfter > fmt.Sprint(longest) {
			return "a malformed 503, Retry-After " + a.retryAfter
		}
		return ""
	case a.status >= http.StatusInternalServerError:
		return "a server error other than 503"
	}
	if a.refused() && a.code != "OUT_OF_STOCK" && a.code != "ALREADY_USED" {
		return "a refusal without a ground"
	}
	allowed := map[string][]int{
		reserving:  {http.StatusCreated, http.StatusConflict},
		confirming: {http.StatusOK},
		releasing:  {http.StatusNoContent},
		aside:      {http.StatusOK, http.StatusCreated, http.StatusConflict},
	}
	if !slices.Contains(allowed[a.verb], a.status) {
		return "an answer that nobody asked for"
	}
	return ""
}

// clientPatience is where a client takes a request for hung; complaint sees it as too late.
const clientPatience = requestTimeout + 2*slack

func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: requestTimeout}).DialContext,
		MaxIdleConnsPerHost: 64,
	}}
}

// call is a request to be sent to one of the nodes.
type call struct {
	verb, method, path, body string
	patience                 time.Duration // 0: clientPatience; less is a client that hangs up
}

func (c call) send(client *http.Client, nodes []*node, at int) answer {
	n := nodes[at]
	patience := clientPatience
	if c.patience > 0 {
		patience = c.patience
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	outages := n.outages.Load()
	a := answer{verb: c.verb, node: at, began: time.Now()}
	a.err = c.exchange(ctx, client, n.url, &a)
	a.took = time.Since(a.began)
	if a.err != nil {
		a.status, a.code, a.reason = 0, "", ""
		down := outages%2 == 1 || outages != n.outages.Load()
		hungUp := c.patience > 0 && errors.Is(a.err, context.DeadlineExceeded)
		a.excused = down || hungUp
	}
	return a
}

// exchange fills in what comes back.
func (c call) exchange(ctx context.Context, client *http.Client, base string, a *answer) error {
	request, err := http.NewRequestWithContext(ctx, c.method, base+c.path, strings.NewReader(c.body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	a.status, a.retryAfter, a.body = response.StatusCode, response.Header.Get("Retry-After"), string(text)
	if a.status >= http.StatusBadRequest {
		var refusal struct {
			Error  string `json:"error"`
			Reason string `json:"reason"`
		}
		if err := json.Unmarshal(text, &refusal); err != nil {
			return fmt.Errorf("a refusal that is no JSON: %q", text)
		}
		a.code, a.reason = refusal.Error, refusal.Reason
	}
	return nil
}

func reserveCall(voucher string, o *order) call {
	return call{verb: reserving, method: http.MethodPost, path: "/vouchers/" + voucher + "/reservations",
		body: fmt.Sprintf(`{"customerId":%d,"orderId":%q,"orderAmount":%d}`, o.customer, o.id, o.amount)}
}

func confirmCall(voucher string, o *order) call {
	return call{verb: confirming, method: http.MethodPost, path: "/vouchers/" + voucher + "/reservations/" + o.id + "/confirm"}
}

func releaseCall(voucher string, o *order) call {
	return call{verb: releasing, method: http.MethodDelete, path: "/vouchers/" + voucher + "/reservations/" + o.id}
}
