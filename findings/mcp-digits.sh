#!/usr/bin/env bash
# MCP's go-sdk 1.8.0: ids above 2^53 in structuredContent and in a typed tool's int64 come out as others.
#
# Guess:    what a server puts into structuredContent, and what a client puts into the arguments, arrives as it was sent; they do,
#           byte for byte, in a tool of Server.AddTool.
# Behaviour: CallToolResult.StructuredContent is decoded into float64. 9007199254740993, as databases and chats number
#           their rows, arrives as 9007199254740992 without a word, while the same number in a text arrives whole. And the
#           function AddTool lets arguments go through float64 before they are read into the tool's own type: a field
#           int64 of it has the neighbour of the id.
# Remedy:   take the number from the text, or rewrite the message before the library reads it; in a tool, take it from
#           CallToolRequest.Params.Arguments, or make ids strings.
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
	type row struct {
		ID int64 `json:"id"`
	}
	typed := ""
	mcp.AddTool(server, &mcp.Tool{Name: "typed"}, func(_ context.Context, _ *mcp.CallToolRequest, in row) (*mcp.CallToolResult, any, error) {
		typed = fmt.Sprint(in.ID)
		return nil, nil, nil
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
	_, err = client.CallTool(ctx, &mcp.CallToolParams{Name: "typed", Arguments: json.RawMessage(`{"id":` + id + `}`)})
	if err != nil {
		panic(err)
	}
	text := answer.Content[0].(*mcp.TextContent).Text
	fmt.Printf("arguments %s, text %s, structuredContent %s, typed %s\n", got, text, content, typed)
	if typed != "9007199254740992" || got != `{"id":`+id+`}` || text != id || string(content) != `{"id":9007199254740992}` {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/modelcontextprotocol/go-sdk/mcp@v1.8.0 >/dev/null 2>&1
echo "go-sdk v1.8.0, $(go version)"
go run .
