#!/usr/bin/env bash
# acp-go-sdk 0.13.5: a client that shows a long session loses its agent, and reads that the agent has hung up.
#
# Guess:    where a client is slower than an agent that tells a session again (session/load), the agent waits at the pipe.
# Behaviour: the library reads on. With 1,024 updates waiting it closes the connection from its side; session/load fails with
#           "peer disconnected before response", and the true cause, "notification queue overflow", stands in the log alone.
# Remedy:   take each update at once into a list of your own, and show it from there.
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
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/coder/acp-go-sdk"
)

// load has an agent tell a session of this many updates to a client that needs a millisecond for each.
func load(updates int) error {
	toAgent, fromClient := io.Pipe()
	toClient, fromAgent := io.Pipe()
	go func() {
		request, _ := bufio.NewReader(toAgent).ReadBytes('\n')
		var m struct{ ID json.RawMessage }
		if json.Unmarshal(request, &m) != nil {
			panic("no request")
		}
		const update = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s",` +
			`"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"word"}}}}`
		for range updates {
			fmt.Fprintln(fromAgent, update)
		}
		fmt.Fprintf(fromAgent, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
	}()
	show := func(context.Context, string, json.RawMessage) (any, *acp.RequestError) {
		time.Sleep(time.Millisecond)
		return nil, nil
	}
	_, err := acp.SendRequest[json.RawMessage](acp.NewConnection(show, fromClient, toClient), context.Background(),
		"session/load", map[string]any{"sessionId": "s", "cwd": "/", "mcpServers": []any{}})
	return err
}

func main() {
	short, long := load(500), load(5000)
	fmt.Printf("500 updates: %v\n5,000 updates: %v\n", short, long)
	if short != nil || long == nil || !strings.Contains(long.Error(), "peer disconnected") {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/coder/acp-go-sdk@v0.13.5 >/dev/null 2>&1
echo "acp-go-sdk v0.13.5, $(go version)"
go run .
