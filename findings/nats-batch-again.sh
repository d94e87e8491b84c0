#!/usr/bin/env bash
# nats-server 2.15.2: an atomic batch that is sent again after its acknowledgement got lost is an error, no duplicate.
#
# Guess:    Nats-Msg-Id works in a batch as it does alone: whoever repeats is told the old sequence, and "duplicate": true.
# Behaviour: the repeated batch is refused with 400, error 10201, "contains duplicate message id", and no sequence; so is a batch
#           of which one id is known. A message alone with that id is acknowledged as a duplicate, with its sequence.
# Remedy:   on 10201 read the last message of the subject, and see by its id whether the batch stands.
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
	"strings"
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

func message(id string) *nats.Msg {
	m := nats.NewMsg("lives.ada")
	m.Header.Set("Nats-Msg-Id", id)
	return m
}

func main() {
	s := must(server.NewServer(&server.Options{Port: -1, JetStream: true, StoreDir: os.Args[1], NoLog: true, NoSigs: true}))
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(10 * time.Second) {
		panic("the server is not ready")
	}
	nc := must(nats.Connect(s.ClientURL()))
	js := must(jetstream.New(nc))
	ctx := context.Background()
	must(js.CreateStream(ctx, jetstream.StreamConfig{Name: "lives", Subjects: []string{"lives.>"}, AllowAtomicPublish: true}))

	batch := func(name string) string {
		first, last := message("one"), message("two")
		for i, m := range []*nats.Msg{first, last} {
			m.Header.Set("Nats-Batch-Id", name)
			m.Header.Set("Nats-Batch-Sequence", fmt.Sprint(i+1))
		}
		last.Header.Set("Nats-Batch-Commit", "1")
		must(nc.RequestMsg(first, 5*time.Second))
		return string(must(nc.RequestMsg(last, 5*time.Second)).Data)
	}
	once, again := batch("a"), batch("b")
	alone := must(js.PublishMsg(ctx, message("one")))
	fmt.Printf("the batch:       %s\nthe batch again: %s\nalone:           sequence %d, duplicate %v\n",
		once, again, alone.Sequence, alone.Duplicate)
	if !strings.Contains(once, `"seq":2`) || !strings.Contains(again, "10201") || !alone.Duplicate || alone.Sequence != 1 {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/nats-io/nats-server/v2@v2.15.2 github.com/nats-io/nats.go@v1.55.0 >/dev/null 2>&1
echo "nats-server v2.15.2, nats.go v1.55.0, $(go version)"
go run . "$dir/store"
