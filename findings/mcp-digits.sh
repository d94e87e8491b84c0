#!/usr/bin/env bash
# MCP's go-sdk 1.8.0: a client reads the numbers of structuredContent as floats, and ids above 2^53 come out as others.
#
# Guess:    what a server puts into structuredContent arrives as it was sent; arguments of a call do, byte for byte.
# Behaviour: CallToolResult.StructuredContent is decoded into float64. 9007199254740993, as databases and chats number
#           their rows, arrives as 9007199254740992 without a word, while the same number in a text arrives whole.
# Remedy:   take the number from the text, or rewrite the message before the library reads it.
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

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const id = "9007199254740993"

func main() {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "rows", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object"}`)
	got := ""
	server.AddTool(&mcp.Tool{Name: "row", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got = string(r.Params.Arguments)
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: id}},
			StructuredContent: json.RawMessage(`{"id":` + id + `}`),
		}, nil
	})
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, far, nil); err != nil {
		panic(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "reader", Version: "1"}, nil).Connect(ctx, near, nil)
	if err != nil {
		panic(err)
	}
	answer, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "row", Arguments: json.RawMessage(`{"id":` + id + `}`)})
	if err != nil {
		panic(err)
	}
	content, err := json.Marshal(answer.StructuredContent)
	if err != nil {
		panic(err)
	}
	text := answer.Content[0].(*mcp.TextContent).Text
	fmt.Printf("arguments %s, text %s, structuredContent %s\n", got, text, content)
	if got != `{"id":`+id+`}` || text != id || string(content) != `{"id":9007199254740992}` {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/modelcontextprotocol/go-sdk/mcp@v1.8.0 >/dev/null 2>&1
echo "go-sdk v1.8.0, $(go version)"
go run .
