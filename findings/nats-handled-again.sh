#!/usr/bin/env bash
# nats-server 2.15.2: a restart forgets the ids of messages that were handled; a message sent again within its window is handled twice.
#
# Guess:    within Duplicates of a stream on disk, a Nats-Msg-Id is stored once, whatever happens to the server.
# Behaviour: after a restart, a clean one too, the ids are gathered from the messages that are still there. A work queue removes what
#           was acknowledged, so that just the ids of what is done are gone: the sender who got no answer, because the server went
#           down, sends it again, is told "duplicate": false, and the payment or the mail goes out a second time.
# Remedy:   a stream by limits for what must happen once, with a consumer beside it; or let the worker keep the ids that it has done.
#
# Needs Go. Exits with 1 if the server behaves otherwise.
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
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func start() (*server.Server, jetstream.JetStream) {
	s := must(server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: os.Args[1], NoLog: true, NoSigs: true,
	}))
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		panic("the server is not ready")
	}
	return s, must(jetstream.New(must(nats.Connect(s.ClientURL()))))
}

func main() {
	ctx := context.Background()
	s, js := start()
	kinds := []jetstream.RetentionPolicy{jetstream.LimitsPolicy, jetstream.WorkQueuePolicy}
	send := func(kind jetstream.RetentionPolicy) bool {
		return must(js.Publish(ctx, "pay."+kind.String(), []byte("120 euros"), jetstream.WithMsgID("payment-1"))).Duplicate
	}
	handle := func(kind jetstream.RetentionPolicy) (n int) {
		consumer := must(js.CreateOrUpdateConsumer(ctx, kind.String(), jetstream.ConsumerConfig{Durable: "worker"}))
		batch := must(consumer.Fetch(10, jetstream.FetchMaxWait(time.Second)))
		for message := range batch.Messages() {
			if err := message.DoubleAck(ctx); err != nil {
				panic(err)
			}
			n++
		}
		return n
	}
	var before, after [2]bool
	var handled [2]int
	for i, kind := range kinds {
		must(js.CreateStream(ctx, jetstream.StreamConfig{
			Name: kind.String(), Subjects: []string{"pay." + kind.String()}, Retention: kind, Duplicates: time.Hour,
		}))
		send(kind)
		handled[i] = handle(kind)
		before[i] = send(kind)
	}
	s.Shutdown()
	s.WaitForShutdown()
	s, js = start()
	for i, kind := range kinds {
		after[i] = send(kind)
		handled[i] += handle(kind)
		fmt.Printf("%s: duplicate before the restart %v, after it %v, handled %d times\n", kind, before[i], after[i], handled[i])
	}
	s.Shutdown()
	if before != [2]bool{true, true} || after != [2]bool{true, false} || handled != [2]int{1, 2} {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/nats-io/nats-server/v2@v2.15.2 github.com/nats-io/nats.go@v1.55.0 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
echo "nats-server v2.15.2, nats.go v1.55.0, $(go version)"
go run . "$dir/store"
