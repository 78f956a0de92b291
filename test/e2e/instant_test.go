package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestF06_AHundredRequestsInTheSameInstant sends all but the last byte of each request, and then all last bytes.
func TestF06_AHundredRequestsInTheSameInstant(t *testing.T) {
	t.Parallel()
	const requests = 100
	// Time for a hundred connections, which all have begun their request.
	st := open(t, 1, settings{"HTTP_REQUEST_TIMEOUT": "10s"})
	st.create("TOTAL", nil)
	st.create("MINE", fields{"totalLimit": requests})

	count := lastBytes(st, "TOTAL", st.newcomers(requests))
	require.Equal(t, tally{created: 1, outOfStock: requests - 1}, count)

	orders := make([]order, requests)
	for i := range orders {
		orders[i] = st.by(7)
	}
	count = lastBytes(st, "MINE", orders)
	require.Equal(t, tally{created: 1, alreadyUsed: requests - 1}, count)
	st.sums("TOTAL", "MINE")
}

func lastBytes(st *stage, code string, orders []order) tally {
	st.t.Helper()
	conns, texts := make([]net.Conn, len(orders)), make([]string, len(orders))
	for i, o := range orders {
		body, err := json.Marshal(reserving(code, o).body)
		require.NoError(st.t, err)
		texts[i] = fmt.Sprintf("POST /vouchers/%s/reservations HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			code, len(body), body)
		conn, err := net.DialTimeout("tcp", st.procs[0].Addr(), soon)
		require.NoError(st.t, err)
		defer func() { _ = conn.Close() }()
		require.NoError(st.t, conn.SetDeadline(time.Now().Add(soon)))
		_, err = io.WriteString(conn, texts[i][:len(texts[i])-1])
		require.NoError(st.t, err)
		conns[i] = conn
	}
	count := together(len(orders), func(i int) answer {
		r := reserving(code, orders[i])
		a, err := finish(conns[i], texts[i])
		if err == nil {
			err = judge(r, a)
		}
		if err != nil {
			st.fail("order %s: %v", orders[i].id, err)
		}
		st.note(code, orders[i].id, a)
		if a.busy() {
			a = st.reserve(code, orders[i])
		}
		return a
	})
	return count
}

func finish(conn net.Conn, text string) (answer, error) {
	if _, err := io.WriteString(conn, text[len(text)-1:]); err != nil {
		return answer{}, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return newAnswer(resp, body), err
}

// TestAClientThatHangsUpLeavesNothingHalfDone cuts connections while their requests are served.
func TestAClientThatHangsUpLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	st := open(t, 2, nil)
	orders := st.newcomers(100)
	st.create("CUT", fields{"totalLimit": len(orders)})
	stop := st.watch("CUT")
	for i, o := range orders {
		body, err := json.Marshal(reserving("CUT", o).body)
		require.NoError(t, err)
		conn, err := net.DialTimeout("tcp", st.procs[i%2].Addr(), soon)
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "POST /vouchers/CUT/reservations HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			len(body), body)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	// Whatever became of them, the same orders find it.
	count := together(len(orders), func(i int) answer { return st.reserve("CUT", orders[i]) })
	require.Equal(t, tally{created: len(orders)}, count)
	require.LessOrEqual(t, stop().maxUsed, len(orders))
	st.must(outOfStock, st.reserve("CUT", st.newcomer()))
	for _, p := range st.procs {
		require.NotContains(t, strings.ToLower(p.Logs()), "panic")
	}
	st.sums("CUT")
}

// TestAConnectionMayWaitForItsFirstRequest: pools of clients open connections before they need them. One that is
// closed under their hands is a POST without an answer.
func TestAConnectionMayWaitForItsFirstRequest(t *testing.T) {
	t.Parallel()
	const timeout = 500 * time.Millisecond
	st := open(t, 1, settings{"HTTP_REQUEST_TIMEOUT": timeout.String()})
	st.create("EARLY", nil)
	conn, err := net.Dial("tcp", st.procs[0].Addr())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	past(time.Now().Add(2 * timeout))
	text := "GET /vouchers/EARLY HTTP/1.1\r\nHost: shop\r\n\r\n"
	_, err = io.WriteString(conn, text[:len(text)-1])
	require.NoError(t, err)
	a, err := finish(conn, text)
	require.NoError(t, err)
	st.must(ok, a)
}
