#!/usr/bin/env bash
# google.golang.org/genai 1.77.0, @google/genai 3.3.0: a streamed turn whose last chunk has no content is not in the talk's next request.
#
# Guess:    a Chat sends what was said so far. A last chunk that only tells why the answer ended, or what it cost, adds nothing to it.
# Behaviour: one chunk without content makes the turn invalid, and an invalid turn is left out: the whole answer, and the user's
#           message before it. The text did come out of the stream, no error is told, and the model does not know the name
#           that it greeted a moment ago. Both libraries do it. Who stops reading early loses the message, too.
# Remedy:   keep the history yourself and give it to generateContentStream; or send history as getHistory(false) has it.
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >chunks.json <<'JSON'
{
  "reason beside text": ["{'candidates':[{'content':{'role':'model','parts':[{'text':'Hello Ada'}]},'finishReason':'STOP'}]}"],
  "reason alone": ["{'candidates':[{'content':{'role':'model','parts':[{'text':'Hello Ada'}]}}]}",
    "{'candidates':[{'finishReason':'STOP'}]}"],
  "usage alone": ["{'candidates':[{'content':{'role':'model','parts':[{'text':'Hello Ada'}]},'finishReason':'STOP'}]}",
    "{'usageMetadata':{'totalTokenCount':9}}"]
}
JSON
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"google.golang.org/genai"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	chunks := map[string][]string{}
	if err := json.Unmarshal(must(os.ReadFile("chunks.json")), &chunks); err != nil {
		panic(err)
	}
	ctx := context.Background()
	for _, name := range []string{"reason beside text", "reason alone", "usage alone"} {
		var asked struct{ Contents []any }
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Contents = nil
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				panic(err)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			for _, chunk := range chunks[name] {
				fmt.Fprintf(w, "data: %s\r\n\r\n", strings.ReplaceAll(chunk, "'", `"`))
			}
		}))
		client := must(genai.NewClient(ctx, &genai.ClientConfig{APIKey: "x", Backend: genai.BackendGeminiAPI,
			HTTPOptions: genai.HTTPOptions{BaseURL: server.URL}}))
		chat := must(client.Chats.Create(ctx, "gemini-2.5-flash", nil, nil))
		text := ""
		for part, err := range chat.SendMessageStream(ctx, genai.Part{Text: "I am Ada."}) {
			text += must(part, err).Text()
		}
		for part, err := range chat.SendMessageStream(ctx, genai.Part{Text: "Who am I?"}) {
			must(part, err)
		}
		fmt.Printf("Go, %s: %q, contents of the next request: %d\n", name, text, len(asked.Contents))
		server.Close()
	}
}
GO
go mod init finding >/dev/null 2>&1
go get google.golang.org/genai@v1.77.0 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
go run . >seen
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @google/genai@3.3.0
cat >main.mjs <<'JS'
import {readFileSync} from 'node:fs';
import http from 'node:http';
import {GoogleGenAI} from '@google/genai';
for (const [name, chunks] of Object.entries(JSON.parse(readFileSync('chunks.json', 'utf8')))) {
  let asked;
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    asked = JSON.parse(body).contents;
    response.writeHead(200, {'content-type': 'text/event-stream'});
    response.end(chunks.map(chunk => `data: ${chunk.replaceAll("'", '"')}\r\n\r\n`).join(''));
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  const client = new GoogleGenAI({apiKey: 'x', httpOptions: {baseUrl: `http://127.0.0.1:${server.address().port}`}});
  const chat = client.chats.create({model: 'gemini-2.5-flash'});
  let text = '';
  for await (const part of await chat.sendMessageStream({message: 'I am Ada.'})) text += part.text ?? '';
  for await (const part of await chat.sendMessageStream({message: 'Who am I?'})) void part;
  console.log(`Node, ${name}: "${text}", contents of the next request: ${asked.length}`);
  server.close();
  server.closeAllConnections();
}
JS
node main.mjs >>seen
cat >known <<'TXT'
Go, reason beside text: "Hello Ada", contents of the next request: 3
Go, reason alone: "Hello Ada", contents of the next request: 1
Go, usage alone: "Hello Ada", contents of the next request: 1
Node, reason beside text: "Hello Ada", contents of the next request: 3
Node, reason alone: "Hello Ada", contents of the next request: 1
Node, usage alone: "Hello Ada", contents of the next request: 1
TXT
echo "google.golang.org/genai v1.77.0, @google/genai 3.3.0, Node $(node --version)"
cat seen
cmp seen known
