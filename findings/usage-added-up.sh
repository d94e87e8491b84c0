#!/usr/bin/env bash
# openai-go 3.99.0: where a server tells the tokens so far in each chunk, the accumulator counts the prompt once a chunk.
#
# Guess:    the usage of ChatCompletionAccumulator is what the last chunk told, as with openai for Node, or it cannot be asked for.
# Behaviour: it adds what the chunks tell. OpenAI tells it once; vLLM and SGLang do it in each chunk with continuous_usage_stats, which
#           Baseten has on by default. An answer of 200 chunks to a prompt of 1,000 tokens cost 200,000: a budget is used up
#           by one answer, a bill is a hundred times too high.
# Remedy:   keep the usage of the last chunk that has one.
#
# Needs Go and Node. Exits with 1 if the libraries behave otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund openai@7.59.0
cat >main.mjs <<'JS'
import OpenAI from 'openai';
const client = new OpenAI({apiKey: 'none', baseURL: process.argv[2]});
const usage = await client.chat.completions.stream({model: 'm', messages: [{role: 'user', content: 'hello'}]}).totalUsage();
console.log(usage.prompt_tokens, usage.completion_tokens);
JS
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

const chunk = `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m",` +
	`"choices":[{"index":0,"delta":{"role":"assistant","content":"a "},"finish_reason":null}],` +
	`"usage":{"prompt_tokens":1000,"completion_tokens":%d,"total_tokens":%d}}` + "\n\n"

const last = `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m",` +
	`"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for told := 1; told <= 4; told++ {
			fmt.Fprintf(w, chunk, told, 1000+told)
		}
		fmt.Fprint(w, last)
	}))
	defer server.Close()
	client := openai.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("none"))
	stream := client.Chat.Completions.NewStreaming(context.Background(), openai.ChatCompletionNewParams{
		Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")}})
	var sum openai.ChatCompletionAccumulator
	for stream.Next() {
		if !sum.AddChunk(stream.Current()) {
			panic("a chunk was refused")
		}
	}
	got := fmt.Sprint(sum.Usage.PromptTokens, sum.Usage.CompletionTokens)
	node, err := exec.Command("node", "main.mjs", server.URL).Output()
	fmt.Printf("openai-go: %s tokens of the prompt and of the answer, error %v\nopenai for Node: %s", got, stream.Err(), node)
	if err != nil || stream.Err() != nil || got != "4000 10" || string(node) != "1000 4\n" {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/openai/openai-go/v3@v3.99.0 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
echo "openai-go v3.99.0, openai 7.59.0, Node $(node --version), $(go version)"
go run .
