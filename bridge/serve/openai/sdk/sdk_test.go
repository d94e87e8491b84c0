//go:build !race

// Package sdk tests package openai with OpenAI's own client in Go. It is large to compile (version 3 is five times as large): so
// it stands alone, and the race detector, which would compile it once more, passes it by.
package sdk

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/openai/openai-go"
	"github.com/openai/openai-go/option"

	"lethe/agent"
	models "lethe/bridge/serve/openai"
	"lethe/config"
	"lethe/host"
	"lethe/internal/lethetest"
	"lethe/internal/servetest"
)

func TestClient(t *testing.T) {
	dir := lethetest.Dir(t)
	s := servetest.Start(t, dir, models.Routes)
	h, err := host.New(s.Backend.Home.Home, config.Settings{}, host.Options{Offline: true, Log: slog.New(slog.DiscardHandler)})
	lethetest.Must(t, err)
	id, err := h.Boot(agent.BootOptions{Name: "ada"})
	lethetest.Must(t, err)
	c := openai.NewClient(option.WithBaseURL(s.URL+"/v1"), option.WithAPIKey(servetest.Token), option.WithMaxRetries(0))
	question := openai.ChatCompletionNewParams{Model: "ada/go", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("what is 12*7?")}}

	var failed *openai.Error
	if _, err := c.Chat.Completions.New(t.Context(), question); !errors.As(err, &failed) || failed.StatusCode != 503 || failed.Code != "not_running" {
		t.Fatalf("while nobody runs ada: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx, []agent.Identity{id}) }() // ends with ctx
	defer func() { cancel(); lethetest.Must(t, <-ended) }()
	lethetest.Eventually(t, "ada runs", func() bool { _, ok := agent.Running(id); return ok })

	models, err := c.Models.List(t.Context())
	if err != nil || len(models.Data) != 1 || models.Data[0].ID != "ada" || models.Data[0].Created == 0 {
		t.Errorf("%+v, %v", models, err)
	}
	first, err := c.Chat.Completions.New(t.Context(), question)
	lethetest.Must(t, err)
	if m := first.Choices[0]; m.Message.Content != "12*7 = 84" || m.FinishReason != "stop" || first.Usage.TotalTokens == 0 {
		t.Errorf("%+v", first)
	}
	question.Messages = append(question.Messages, first.Choices[0].Message.ToParam(), openai.UserMessage("count to 60"))
	question.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := c.Chat.Completions.NewStreaming(t.Context(), question)
	var whole openai.ChatCompletionAccumulator
	for stream.Next() {
		if !whole.AddChunk(stream.Current()) {
			t.Errorf("a chunk of another answer: %s", stream.Current().RawJSON())
		}
	}
	lethetest.Must(t, stream.Err())
	if !strings.HasSuffix(whole.Choices[0].Message.Content, "59 60") || whole.Choices[0].FinishReason != "stop" || whole.Usage.TotalTokens == 0 {
		t.Errorf("%+v", whole.ChatCompletion)
	}
	question.Tools = []openai.ChatCompletionToolParam{{Function: openai.FunctionDefinitionParam{Name: "f"}}}
	question.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")}
	if _, err := c.Chat.Completions.New(t.Context(), question); !errors.As(err, &failed) || failed.StatusCode != 400 || failed.Param != "tool_choice" {
		t.Errorf("with a tool that has to be called: %v", err)
	}
}
