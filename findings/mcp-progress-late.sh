#!/usr/bin/env bash
# MCP's go-sdk 1.8.0: CallTool returns before the progress that the server sent ahead of the result was handled.
#
# Guess:    messages are handled in the order they came in, so that after CallTool no progress of that call is to come.
# Behaviour: a result does not wait for the handler of progress. With a handler that takes 20 ms, most of 20 notices of a call come
#           after the call. Whoever closes the call's channel or prints its last line then loses them, or writes them under
#           the next call.
# Remedy:   count the notices by their token, and leave the receiver of a call open after it.
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
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const sent = 20

func main() {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "counter", Version: "1"}, nil)
	tool := &mcp.Tool{Name: "count", InputSchema: json.RawMessage(`{"type":"object"}`)}
	server.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range sent {
			params := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1)}
			if err := r.Session.NotifyProgress(ctx, params); err != nil {
				return nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, far, nil); err != nil {
		panic(err)
	}
	var handled atomic.Int32
	options := &mcp.ClientOptions{ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
		time.Sleep(20 * time.Millisecond)
		handled.Add(1)
	}}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "reader", Version: "1"}, options).Connect(ctx, near, nil)
	if err != nil {
		panic(err)
	}
	params := &mcp.CallToolParams{Name: "count", Arguments: json.RawMessage(`{}`)}
	params.SetProgressToken("call 1")
	if _, err := client.CallTool(ctx, params); err != nil {
		panic(err)
	}
	before := handled.Load()
	time.Sleep(2 * time.Second)
	fmt.Printf("sent ahead of the result %d, handled when CallTool returned %d, later %d\n", sent, before, handled.Load())
	if before > sent/2 || handled.Load() != sent {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/modelcontextprotocol/go-sdk/mcp@v1.8.0 >/dev/null 2>&1
echo "go-sdk v1.8.0, $(go version)"
go run .
