#!/usr/bin/env bash
# nats-server 2.15.2: in a key-value bucket with a history, a key that is to live a second lives as long as its marker: a minute.
#
# Guess:    Create with KeyTTL(1s) makes a key that is gone a second later, whatever LimitMarkerTTL and History of the bucket are.
# Behaviour: it is so with History 1. With History 2 or more the server raises the TTL of the message to LimitMarkerTTL without
#           a word. Nats-TTL of the stored message reads "60". So a lease or a lock of a dead holder stays held.
# Remedy:   keep leases in a bucket with History 1, or read Nats-TTL back.
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
	"errors"
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
	gone, ttl := map[uint8]bool{}, map[uint8]string{}
	for _, history := range []uint8{1, 2} {
		name := fmt.Sprint("leases", history)
		kv := must(js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name, History: history, LimitMarkerTTL: time.Minute}))
		must(kv.Create(ctx, "lock", []byte("me"), jetstream.KeyTTL(time.Second)))
		ttl[history] = must(must(js.Stream(ctx, "KV_"+name)).GetMsg(ctx, 1)).Header.Get("Nats-TTL")
		time.Sleep(4 * time.Second)
		_, err := kv.Get(ctx, "lock")
		gone[history] = errors.Is(err, jetstream.ErrKeyNotFound)
		fmt.Printf("history %d: Nats-TTL %q, gone after 4 s: %v\n", history, ttl[history], gone[history])
	}
	s.Shutdown()
	if !gone[1] || gone[2] || ttl[2] != "60" {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/nats-io/nats-server/v2@v2.15.2 github.com/nats-io/nats.go@v1.55.0 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
echo "nats-server v2.15.2, nats.go v1.55.0, $(go version)"
go run . "$dir/store"
