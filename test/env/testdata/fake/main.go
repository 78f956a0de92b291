// Command fake stands for voucherd in the tests of the test environment: it is
// ready after its first answer, and does as its command line says.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	switch strings.Join(os.Args[1:], " ") {
	case "serve":
		serve(false)
	case "serve stubbornly":
		serve(true)
	case "env":
		fmt.Println(strings.Join(os.Environ(), "\n"))
	case "echo":
		text, _ := io.ReadAll(os.Stdin)
		fmt.Print(string(text))
		fmt.Fprintln(os.Stderr, "failed")
		os.Exit(3)
	}
}

func serve(stubborn bool) {
	var asked atomic.Int32
	server := http.Server{Addr: os.Getenv("VOUCHERD_HTTP_ADDR"), ReadHeaderTimeout: time.Second}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if stubborn {
		ctx = context.Background()
	}
	go func() {
		<-ctx.Done()
		_ = server.Shutdown(context.Background())
	}()
	fmt.Println("listening on", server.Addr)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("drained")
}
