#!/usr/bin/env bash
# r3labs/sse 2.10.0 (Go): an event above 64 KiB asks the server again, without end, and each round hands on the events before it.
#
# Guess:    an event that is too long is handed on cut, or SubscribeRaw returns an error.
# Behaviour: the reader gives up at 64 KiB, and what is taken for a lost connection is made again after a pause, from the beginning
#           where events have no ids, as those of models. The handler sees the first events once more each time, and never one behind
#           the long one: a streamed answer whose tool call carries a file is paid for, and shown, again and again.
# Remedy:   sse.ClientMaxBufferSize, and a ReconnectStrategy of backoff.StopBackOff for a request that must be made once.
#
# Needs Go. Exits with 1 if the library behaves otherwise.
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
	"strings"
	"sync/atomic"
	"time"

	"github.com/r3labs/sse/v2"
)

func main() {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: I write the file.\n\ndata: %s\n\ndata: [DONE]\n\n", strings.Repeat("x", 70<<10))
		w.(http.Flusher).Flush()
		<-r.Context().Done() // it stays open, as a server does that is asked for events
	}))
	seen := func(options ...func(*sse.Client)) (events []int, asked int64) {
		requests.Store(0)
		ctx, cancel := context.WithTimeout(context.Background(), 6*time.Second)
		defer cancel()
		ended := make(chan error, 1)
		got := make(chan int, 100)
		go func() {
			ended <- sse.NewClient(server.URL, options...).SubscribeRawWithContext(ctx, func(event *sse.Event) {
				got <- len(event.Data)
			})
		}()
		for {
			select {
			case size := <-got:
				events = append(events, size)
				continue
			case err := <-ended:
				fmt.Println("returned", err)
			case <-ctx.Done():
			}
			return events, requests.Load()
		}
	}
	events, asked := seen()
	fmt.Printf("bytes of the events that were handed on in 6 s: %v, requests: %d\n", events, asked)
	same := len(events) >= 2 && asked >= 2
	for _, size := range events {
		same = same && size == len("I write the file.")
	}
	events, asked = seen(sse.ClientMaxBufferSize(1 << 20))
	fmt.Printf("with ClientMaxBufferSize(1 MiB): %v, requests: %d\n", events, asked)
	if !same || asked != 1 || fmt.Sprint(events) != fmt.Sprint([]int{17, 70 << 10, 6}) {
		os.Exit(1)
	}
	os.Exit(0)
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/r3labs/sse/v2@v2.10.0 >/dev/null 2>&1
echo "r3labs/sse v2.10.0, $(go version)"
go run .
