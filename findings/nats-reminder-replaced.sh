#!/usr/bin/env bash
# nats-server 2.15.2: of two messages that are to be delivered later and stand at one subject, the first never is.
#
# Guess:    with AllowMsgSchedules each stored message with Nats-Schedule "@at …" is published at its time, as a stream holds any
#           number of messages at a subject; or the second is refused.
# Behaviour: a subject is one schedule. Both are acknowledged, with sequences of their own; the second removes the first. Reminders of a
#           person, a room or a task at a subject of its own, as one would name it, are lost but for the newest.
#           And what is due is stored in the stream alone: a plain subscription to its subject gets nothing.
# Remedy:   an id at the end of each subject that carries a schedule, and a consumer for what is due.
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

func main() {
	ctx := context.Background()
	s := must(server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: os.Args[1], NoLog: true, NoSigs: true,
	}))
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		panic("the server is not ready")
	}
	connection := must(nats.Connect(s.ClientURL()))
	js := must(jetstream.New(connection))
	must(js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "reminders", Subjects: []string{"later.>", "now.>"}, AllowMsgSchedules: true,
	}))
	told := must(connection.SubscribeSync("now.>"))
	remind := func(subject, text string, in time.Duration) {
		message := nats.NewMsg("later." + subject)
		message.Data = []byte(text)
		message.Header.Set("Nats-Schedule", "@at "+time.Now().Add(in).UTC().Format(time.RFC3339))
		message.Header.Set("Nats-Schedule-Target", "now.anna")
		fmt.Printf("%s at later.%s: acknowledged as %d\n", text, subject, must(js.PublishMsg(ctx, message)).Sequence)
	}
	remind("anna", "bank", 2*time.Second)
	remind("anna", "bread", 4*time.Second)
	remind("ben.1", "tax", 2*time.Second)
	remind("ben.2", "rent", 4*time.Second)
	consumer := must(js.CreateConsumer(ctx, "reminders", jetstream.ConsumerConfig{FilterSubject: "now.>"}))
	batch := must(consumer.Fetch(4, jetstream.FetchMaxWait(8*time.Second)))
	var came []string
	for message := range batch.Messages() {
		came = append(came, string(message.Data()))
	}
	_, err := told.NextMsg(time.Second)
	held := must(must(js.Stream(ctx, "reminders")).Info(ctx, jetstream.WithSubjectFilter("later.>"))).State.Subjects
	fmt.Println("delivered:", came, "still scheduled:", held, "a plain subscription:", err)
	s.Shutdown()
	all := strings.Join(came, " ")
	others := strings.Contains(all, "bread") && strings.Contains(all, "tax") && strings.Contains(all, "rent")
	if strings.Contains(all, "bank") || !others || len(held) != 0 || !errors.Is(err, nats.ErrTimeout) {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/nats-io/nats-server/v2@v2.15.2 github.com/nats-io/nats.go@v1.55.0 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
echo "nats-server v2.15.2, nats.go v1.55.0, $(go version)"
go run . "$dir/store"
