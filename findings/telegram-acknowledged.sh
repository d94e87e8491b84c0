#!/usr/bin/env bash
# go-telegram/bot 1.19.0: a message is acknowledged to Telegram before its handler has seen it through.
#
# Guess:    the bot asks for newer updates once the handler of one has returned, with WithNotAsyncHandlers at least.
# Behaviour: updates go into a channel of 1,024, and the next getUpdates has their offset while the handler of the first still
#           works. That acknowledges all of them: what a crash or a restart finds in the channel is never sent again.
# Remedy:   call getUpdates yourself, and raise the offset when a message is on the disk.
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
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

func main() {
	offsets := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/getUpdates") {
			fmt.Fprint(w, `{"ok":true,"result":{"id":1,"is_bot":true,"first_name":"bot","username":"a_bot"}}`)
			return
		}
		offset := r.FormValue("offset")
		offsets <- offset
		if offset != "1" {
			<-r.Context().Done() // nothing newer
			return
		}
		update := `{"update_id":%d,"message":{"message_id":%d,"date":1,"chat":{"id":5,"type":"private"},"text":"hello"}}`
		fmt.Fprintf(w, `{"ok":true,"result":[`+update+","+update+`]}`, 7, 1, 8, 2)
	}))
	handled := 0
	b, err := bot.New("1:x", bot.WithServerURL(server.URL), bot.WithNotAsyncHandlers(), bot.WithWorkers(1),
		bot.WithDefaultHandler(func(ctx context.Context, _ *bot.Bot, _ *models.Update) { <-ctx.Done(); handled++ }))
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go b.Start(ctx)
	first, second := <-offsets, ""
	select {
	case second = <-offsets:
	case <-time.After(10 * time.Second):
	}
	fmt.Printf("getUpdates with offset %s, then with %q, while the handler of update 7 works and 8 waits\n", first, second)
	if second != "9" || handled != 0 {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/go-telegram/bot@v1.19.0 >/dev/null 2>&1
echo "go-telegram/bot v1.19.0, $(go version)"
go run .
