#!/usr/bin/env bash
# nats-server 2.15.2: what was deleted or purged cannot be sent again: it is acknowledged as a duplicate, and nothing is stored.
#
# Guess:    Nats-Msg-Id is compared with what the stream holds, so that "duplicate": true means "it is there, at this sequence".
# Behaviour: the ids are kept apart, for two minutes, and neither a purge nor a deletion takes them out. Who clears a stream and
#           fills it anew with the same ids gets an acknowledgement for each message, with sequences that nothing stands at.
# Remedy:   after a purge, use other ids, or wait for longer than the stream's Duplicates; look at "duplicate" of each answer.
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

func main() {
	ctx := context.Background()
	s := must(server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: os.Args[1], NoLog: true, NoSigs: true,
	}))
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		panic("the server is not ready")
	}
	js := must(jetstream.New(must(nats.Connect(s.ClientURL()))))
	stream := must(js.CreateStream(ctx, jetstream.StreamConfig{Name: "log", Subjects: []string{"log.>"}}))
	lost := 0
	again := func(how, id string, clear func(sequence uint64) error) {
		first := must(js.Publish(ctx, "log.a", []byte("text"), jetstream.WithMsgID(id)))
		if err := clear(first.Sequence); err != nil {
			panic(err)
		}
		second := must(js.Publish(ctx, "log.a", []byte("text"), jetstream.WithMsgID(id)))
		held := must(stream.Info(ctx)).State.Msgs
		fmt.Printf("%s: first sequence %d, again sequence %d, duplicate %v, messages held %d\n",
			how, first.Sequence, second.Sequence, second.Duplicate, held)
		if second.Duplicate && second.Sequence == first.Sequence && held == 0 {
			lost++
		}
	}
	again("purged", "id1", func(uint64) error { return stream.Purge(ctx) })
	again("deleted", "id2", func(sequence uint64) error { return stream.DeleteMsg(ctx, sequence) })
	s.Shutdown()
	if lost != 2 {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/nats-io/nats-server/v2@v2.15.2 github.com/nats-io/nats.go@v1.55.0 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
echo "nats-server v2.15.2, nats.go v1.55.0, $(go version)"
go run . "$dir/store"
