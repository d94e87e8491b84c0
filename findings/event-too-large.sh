#!/usr/bin/env bash
# r3labs/sse 2.10.0, tmaxmax/go-sse 0.12.0: behind an event of 70 kB, a stream never gets on, and says nothing.
#
# Guess:    an event of a stream may be of any size, as a tool's result or a picture in it is; what is too large is an error.
# Behaviour: both read through a buffer of 64 KiB. What does not fit ends the connection, is taken for a network that failed, and
#           is asked for again, with the id before it, for ever. Nothing behind it comes. Subscribe returns no error.
# Remedy:   sse.ClientMaxBufferSize(n) there, Connection.Buffer(nil, n) here; or launchdarkly/eventsource, which brings all three.
#
# Needs Go. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/launchdarkly/eventsource"
	"github.com/r3labs/sse/v2"
	tmaxmax "github.com/tmaxmax/go-sse"
)

var asked atomic.Int32

// serve sends three events, those behind the last that the client has.
func serve(w http.ResponseWriter, r *http.Request) {
	asked.Add(1)
	w.Header().Set("Content-Type", "text/event-stream")
	had, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	for n, data := range []string{"small", strings.Repeat("x", 70_000), "after"} {
		if n >= had {
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", n+1, data)
		}
	}
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// report has a client read for five seconds, and tells the sizes of what it got, and how often it asked.
func report(name string, read func(ctx context.Context, url string, got chan int) error) string {
	server := httptest.NewServer(http.HandlerFunc(serve))
	asked.Store(0)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	got, failed, sizes := make(chan int, 1000), make(chan error, 1), []int{}
	go func() { failed <- read(ctx, server.URL, got) }()
	for end := time.After(5 * time.Second); ; {
		select {
		case size := <-got:
			sizes = append(sizes, size)
			continue
		case err := <-failed:
			return fmt.Sprintln(name, sizes, "error", err)
		case <-end:
		}
		return fmt.Sprintln(name, "events of", sizes, "bytes, asked again:", asked.Load() > 1)
	}
}

func main() {
	out := report("r3labs", func(ctx context.Context, url string, got chan int) error {
		return sse.NewClient(url).SubscribeRawWithContext(ctx, func(e *sse.Event) { got <- len(e.Data) })
	}) + report("tmaxmax", func(ctx context.Context, url string, got chan int) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		connection := tmaxmax.NewConnection(request)
		connection.SubscribeToAll(func(e tmaxmax.Event) { got <- len(e.Data) })
		return connection.Connect()
	}) + report("launchdarkly", func(ctx context.Context, url string, got chan int) error {
		stream, err := eventsource.Subscribe(url, "")
		for err == nil {
			got <- len((<-stream.Events).Data())
		}
		return err
	})
	fmt.Print(out)
	if out != "r3labs events of [5] bytes, asked again: true\ntmaxmax events of [5] bytes, asked again: true\n"+
		"launchdarkly events of [5 70000 5] bytes, asked again: false\n" {
		os.Exit(1)
	}
	os.Exit(0)
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/r3labs/sse/v2@v2.10.0 github.com/tmaxmax/go-sse@v0.12.0 github.com/launchdarkly/eventsource@v1.11.0 >/dev/null 2>&1
echo "r3labs/sse v2.10.0, tmaxmax/go-sse v0.12.0, launchdarkly/eventsource v1.11.0, $(go version)"
go run .
