#!/usr/bin/env bash
# nats-server 2.15.2: a mirror that does not allow TTLs itself keeps for good what its origin forgets after a second.
#
# Guess:    a message's Nats-TTL goes with it, so that a mirror forgets it when the origin does, or the mirror cannot be made.
# Behaviour: the mirror is made, the message arrives with its header, and stays: only the mirror's own AllowMsgTTL counts. What
#           was sent to be forgotten, such as a code or a personal note, can be read in the copy from then on.
# Remedy:   set AllowMsgTTL on each mirror before messages arrive, or give it a MaxAge.
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
	origin := &jetstream.StreamSource{Name: "origin"}
	streams := []jetstream.StreamConfig{
		{Name: "origin", Subjects: []string{"codes.>"}, AllowMsgTTL: true},
		{Name: "plain", Mirror: origin},
		{Name: "allows", Mirror: origin, AllowMsgTTL: true},
	}
	for _, config := range streams {
		must(js.CreateStream(ctx, config))
	}
	must(js.Publish(ctx, "codes.a", []byte("1234"), jetstream.WithMsgTTL(time.Second)))
	time.Sleep(5 * time.Second)
	held := map[string]uint64{}
	for _, config := range streams {
		state := must(must(js.Stream(ctx, config.Name)).Info(ctx)).State
		held[config.Name] = state.Msgs
		fmt.Printf("%s: messages seen %d, held after 5 s %d\n", config.Name, state.LastSeq, state.Msgs)
	}
	s.Shutdown()
	if held["origin"] != 0 || held["allows"] != 0 || held["plain"] != 1 {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/nats-io/nats-server/v2@v2.15.2 github.com/nats-io/nats.go@v1.55.0 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
echo "nats-server v2.15.2, nats.go v1.55.0, $(go version)"
go run . "$dir/store"
