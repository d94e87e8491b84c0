#!/usr/bin/env bash
# deepseek-go 1.3.2: a stream whose lines begin with "data:" and no space is an empty answer, without an error.
#
# Guess:    events are read as the standard says, by which the space behind the colon may be left out.
# Behaviour: a line is read only if it begins with "data: ". Servers that write "data:{…}" (Spring's SseEmitter and what is
#           built on it) answer, are paid, and Recv returns io.EOF at once, as behind a whole answer.
# Remedy:   read the body with a reader of events, and use the library's types; or treat an answer of no pieces as an error.
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
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	deepseek "github.com/cohesion-org/deepseek-go"
)

// answer is the text and the end of a stream that a server sends with this before each event's JSON.
func answer(field string) (text string, end error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, field, `{"choices":[{"index":0,"delta":{"content":"Good morning"},"finish_reason":"stop"}]}`, "\n\n")
		fmt.Fprint(w, field, "[DONE]\n\n")
	}))
	defer server.Close()
	client, err := deepseek.NewClientWithOptions("key", deepseek.WithBaseURL(server.URL+"/"))
	if err != nil {
		return "", err
	}
	stream, err := client.CreateChatCompletionStream(context.Background(), &deepseek.StreamChatCompletionRequest{
		Model: "m", Stream: true, Messages: []deepseek.ChatCompletionMessage{{Role: "user", Content: "hello"}}})
	if err != nil {
		return "", err
	}
	defer stream.Close()
	for {
		piece, err := stream.Recv()
		if err != nil {
			return text, err
		}
		for _, c := range piece.Choices {
			text += c.Delta.Content
		}
	}
}

func main() {
	with, end := answer("data: ")
	without, endWithout := answer("data:")
	fmt.Printf("with a space %q (%v), without %q (%v)\n", with, end, without, endWithout)
	if with != "Good morning" || without != "" || !errors.Is(endWithout, io.EOF) {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/cohesion-org/deepseek-go@v1.3.2 >/dev/null 2>&1
echo "deepseek-go v1.3.2, $(go version)"
go run .
