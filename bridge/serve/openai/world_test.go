package openai_test

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/bridge/serve/openai"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/rehearsal"
	"lethe/internal/test/servetest"
)

// world is a server over a home in which ada lives, with the offline model.
type world struct {
	*servetest.Server
	t    *testing.T
	dir  string
	id   home.Identity
	stop func() // ada
}

// begin lets ada live with settings, and with a model that does what the script says first.
func begin(t *testing.T, settings string, script ...rehearsal.Step) *world {
	t.Helper()
	w := &world{t: t, dir: lethetest.Dir(t)}
	w.Server = servetest.Start(t, w.dir, openai.Routes)
	w.live(settings, script...)
	return w
}

func (w *world) live(settings string, script ...rehearsal.Step) {
	w.t.Helper()
	model := httptest.NewServer(rehearsal.New(rehearsal.Options{Pace: 3 * time.Millisecond, Script: script}))
	w.t.Cleanup(model.Close)
	w.t.Setenv("DEEPSEEK_API_KEY", "none-is-needed-here")
	w.run(settings, model.URL)
}

// run runs ada.
func (w *world) run(settings, model string) {
	w.t.Helper()
	var s config.Settings
	lethetest.Must(w.t, config.Parse("config.toml", []byte(settings), &s))
	ready := make(chan struct{}, 1)
	h, err := host.New(w.Backend.Home.Home, s, host.Options{
		Preset: "deepseek", BaseURL: model, Rooms: []string{"dev"}, Log: slog.New(slog.DiscardHandler),
		Ready: func(home.Identity) { ready <- struct{}{} },
	})
	lethetest.Must(w.t, err)
	if w.id.Self == "" {
		w.id, err = h.Boot(home.BootOptions{Name: "ada"})
		lethetest.Must(w.t, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx, []home.Identity{w.id}) }() // ends with ctx
	done := false
	w.stop = func() {
		if !done {
			done = true
			cancel()
			lethetest.Must(w.t, <-ended)
		}
	}
	w.t.Cleanup(w.stop)
	<-ready
}

// said are the lines of a room: who, and what.
func (w *world) said(room string) (lines []string) {
	w.t.Helper()
	all, err := chat.Before(chat.Path(w.dir, room), -1, 1000)
	lethetest.Must(w.t, err)
	for _, l := range all {
		lines = append(lines, l.Name+": "+l.Text)
	}
	return lines
}

func (w *world) room(room string, want ...string) {
	w.t.Helper()
	if got := w.said(room); !slices.Equal(got, want) {
		w.t.Errorf("room %s holds\n%s\nwant\n%s", room, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// body makes a request of what is said in turns, the user first.
func body(model string, said ...string) string {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var all []message
	for i, text := range said {
		role, rest, ok := strings.Cut(text, "|")
		if !ok {
			role, rest = []string{"user", "assistant"}[i%2], text
		}
		all = append(all, message{role, rest})
	}
	data, _ := json.Marshal(map[string]any{"model": model, "messages": all})
	return string(data)
}

// ask returns the answer to a request that is not to stream.
func (w *world) ask(body string, headers ...string) string {
	w.t.Helper()
	var v struct {
		Object  string
		Choices []struct {
			Message struct{ Role, Content string }
			Finish  string `json:"finish_reason"`
		}
	}
	text := servetest.Text(w.t, w.Do(w.t, "POST", "/v1/chat/completions", body, headers...), 200)
	lethetest.Must(w.t, json.Unmarshal([]byte(text), &v))
	if v.Object != "chat.completion" || len(v.Choices) != 1 || v.Choices[0].Finish != "stop" || v.Choices[0].Message.Role != "assistant" {
		w.t.Errorf("answered %s", text)
	}
	return v.Choices[0].Message.Content
}

// refused sends a request that fails, and returns why.
func (w *world) refused(status int, body string, headers ...string) string {
	w.t.Helper()
	var v struct {
		Error struct{ Message, Type, Code string }
	}
	text := servetest.Text(w.t, w.Do(w.t, "POST", "/v1/chat/completions", body, headers...), status)
	if json.Unmarshal([]byte(text), &v) != nil || v.Error.Message == "" || v.Error.Type == "" {
		w.t.Errorf("the error is %s", text)
	}
	return v.Error.Message + " " + v.Error.Code
}

// told is what came by a stream.
type told struct {
	content, thinking, finish, fault string
	tokens                           int
}

func (w *world) stream(body string, headers ...string) (got told) {
	w.t.Helper()
	body = strings.TrimSuffix(body, "}") + `,"stream":true,"stream_options":{"include_usage":true}}`
	resp := w.Do(w.t, "POST", "/v1/chat/completions", body, headers...)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatal(resp.Status, resp.Header)
	}
	ended := false
	for s := bufio.NewScanner(resp.Body); s.Scan(); {
		data, ok := strings.CutPrefix(s.Text(), "data: ")
		if ended = ended || data == "[DONE]"; !ok || ended {
			continue
		}
		var c struct {
			Object  string
			Choices []struct {
				Delta struct {
					Role, Content string
					Thinking      string `json:"reasoning_content"`
				}
				Finish string `json:"finish_reason"`
			}
			Usage struct {
				Tokens int `json:"total_tokens"`
			}
			Error struct{ Message string }
		}
		lethetest.Must(w.t, json.Unmarshal([]byte(data), &c))
		if len(c.Choices) > 0 && !strings.Contains(data, `"usage":null`) {
			w.t.Errorf("the usage is neither there nor still to come: %s", data)
		}
		got.fault += c.Error.Message
		got.tokens += c.Usage.Tokens
		for _, choice := range c.Choices {
			got.content += choice.Delta.Content
			got.thinking += choice.Delta.Thinking
			got.finish += choice.Finish
		}
	}
	if !ended && got.fault == "" {
		w.t.Errorf("the stream ends without [DONE]: %+v", got)
	}
	return got
}
