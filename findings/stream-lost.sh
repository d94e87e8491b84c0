#!/usr/bin/env bash
# deepseek-go 1.3.2: a stream that it does not read as meant is an empty or a cut answer, which ends as a whole one does.
#
# Guess:    events are read as the standard says, by which the space behind "data:" may be left out; and {"error": {…}} comes out
#           of Recv as an error, as it does with a status of 503.
# Behaviour: a line counts only if it begins with "data: ". Where a server writes "data:{…}", as Spring's SseEmitter does, nothing
#           of the answer comes. An error in the middle, as OpenRouter sends it once the status is out, is a piece without
#           choices. Both times Recv then returns io.EOF.
# Remedy:   read the body with a reader of events; an answer is whole only if a piece of it had a finish_reason.
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

// answer is the text, the reason to stop and the end of a stream with this body.
func answer(body string) (text, reason string, end error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, body)
	}))
	defer server.Close()
	client, err := deepseek.NewClientWithOptions("key", deepseek.WithBaseURL(server.URL+"/"))
	if err != nil {
		return "", "", err
	}
	stream, err := client.CreateChatCompletionStream(context.Background(), &deepseek.StreamChatCompletionRequest{
		Model: "m", Stream: true, Messages: []deepseek.ChatCompletionMessage{{Role: "user", Content: "hello"}}})
	if err != nil {
		return "", "", err
	}
	defer stream.Close()
	for {
		piece, err := stream.Recv()
		if err != nil {
			return text, reason, err
		}
		for _, c := range piece.Choices {
			text += c.Delta.Content
			reason += c.FinishReason
		}
	}
}

func main() {
	const good = `{"choices":[{"index":0,"delta":{"content":"Good "}}]}`
	const morning = `{"choices":[{"index":0,"delta":{"content":"morning"},"finish_reason":"stop"}]}`
	const failure = `{"error":{"message":"overloaded","code":503}}`
	ok := true
	for _, c := range []struct{ how, body, text, reason string }{
		{"with a space", "data: " + good + "\n\ndata: " + morning + "\n\ndata: [DONE]\n\n", "Good morning", "stop"},
		{"without one", "data:" + good + "\n\ndata:" + morning + "\n\ndata:[DONE]\n\n", "", ""},
		{"with an error", "data: " + good + "\n\ndata: " + failure + "\n\ndata: [DONE]\n\n", "Good ", ""},
	} {
		text, reason, end := answer(c.body)
		fmt.Printf("%-13s text %q, reason to stop %q, end %v\n", c.how, text, reason, end)
		ok = ok && text == c.text && reason == c.reason && errors.Is(end, io.EOF)
	}
	if !ok {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/cohesion-org/deepseek-go@v1.3.2 >/dev/null 2>&1
echo "deepseek-go v1.3.2, $(go version)"
go run .
