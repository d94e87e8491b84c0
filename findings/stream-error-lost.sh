#!/usr/bin/env bash
# deepseek-go 1.3.2: an error that the server tells inside a stream is lost, and half an answer looks whole.
#
# Guess:    the client of an API whose errors are {"error": {…}} returns them from Recv, as it does for a status of 503.
# Behaviour: an event {"error": {"message": "overloaded", "code": 503}} in the middle of an answer, as OpenRouter sends it
#           once the status is out, is a piece without choices. Then comes io.EOF, as behind a whole answer.
# Remedy:   an answer is whole only if a piece of it had a finish_reason.
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

// answer is the text, the reason to stop and the end of a stream that fails in the middle.
func answer() (text, reason string, end error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"Good "}}]}`, "\n\n")
		fmt.Fprint(w, `data: {"error":{"message":"overloaded","code":503}}`, "\n\n")
		fmt.Fprint(w, "data: [DONE]\n\n")
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
	text, reason, end := answer()
	fmt.Printf("text %q, reason to stop %q, end %v\n", text, reason, end)
	if text != "Good " || reason != "" || !errors.Is(end, io.EOF) {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/cohesion-org/deepseek-go@v1.3.2 >/dev/null 2>&1
echo "deepseek-go v1.3.2, $(go version)"
go run .
