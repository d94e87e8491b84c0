package openai_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
	"lethe/internal/test/servetest"
)

// The client of OpenAI in JavaScript.
func TestJavaScript(t *testing.T) {
	lethetest.Unraced(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is missing: install it, and run npm ci in internal/test/js")
	}
	js := filepath.Join(lethetest.Root(t), "internal/test/js")
	if _, err := os.Stat(filepath.Join(js, "node_modules/openai")); err != nil {
		t.Skip("the package openai is missing: run npm ci in internal/test/js")
	}
	w := begin(t, "")
	cmd := exec.CommandContext(t.Context(), node, lethetest.Given(t, "internal/test/js", "openai.mjs"))
	cmd.Env, cmd.Stderr = append(os.Environ(), "BASE_URL="+w.URL+"/v1", "TOKEN="+servetest.Token), os.Stderr
	out, err := cmd.Output()
	lethetest.Must(t, err)
	var got struct {
		Models                                                      []string
		Model, Answer, Finish, Streamed, Refused, Unknown, Stranger string
		Tokens, Usage, Untold                                       bool
		Chunks                                                      int

		Response, ResponseDeltas, ResponseStreamed, ResponseRefused string
		ResponseTokens, Ordered                                     bool
		Events                                                      []string
	}
	lethetest.Must(t, json.Unmarshal(out, &got))
	if !slices.Equal(got.Models, []string{"ada"}) || got.Model != "ada" || got.Answer != "12*7 = 84" || got.Finish != "stop" ||
		!got.Tokens || !got.Usage || !got.Untold ||
		!strings.HasSuffix(got.Streamed, "59 60") || got.Chunks < 1 || got.Refused != "BadRequestError 400 invalid_request_error" ||
		got.Unknown != "NotFoundError 404 model_not_found" || got.Stranger != "AuthenticationError 401" {
		t.Errorf("the client got %s", out)
	}
	events := []string{
		"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
		"response.output_text.delta", "response.output_text.done", "response.content_part.done", "response.output_item.done",
		"response.completed",
	}
	if got.Response != "completed 12*7 = 84" || !got.ResponseTokens || !slices.Equal(got.Events, events) || !got.Ordered ||
		!strings.HasSuffix(got.ResponseDeltas, "59 60") || got.ResponseStreamed != got.ResponseDeltas ||
		got.ResponseRefused != "BadRequestError 400" {
		t.Errorf("of /v1/responses the client got %s", out)
	}
	lines := w.said("responses")
	if len(lines) != 4 || !strings.HasSuffix(lines[0], "what is 12*7?") || lines[2] != "you: count to 60" {
		t.Errorf("room responses holds %q", lines)
	}
	w.room("js", "you: what is 12*7?", "ada: 12*7 = 84", "you: count to 60", "ada: "+got.Streamed)
}

// step is a request of a client, and what becomes of it.
type step struct {
	What    string
	Headers map[string]string
	Body    json.RawMessage // {answer 1} is the answer to the first step
	Leaves  bool            // the client leaves when the answer has begun
	Says    []string        // the lines of people that are new in the room, as expressions
	Answer  string          // likewise
}

var answerTo = regexp.MustCompile(`\{answer (\d+)\}`)

// What chat front ends and editors send, in the course of a conversation.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	lethetest.Must(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			var play struct {
				Source, Room string
				Steps        []step
			}
			lethetest.Must(t, json.Unmarshal([]byte(lethetest.Read(t, file)), &play))
			if play.Source == "" || len(play.Steps) == 0 {
				t.Fatal("nothing is recorded, or nobody knows from where")
			}
			w := begin(t, "people = [\"you\"]\n")
			var answers []string
			for _, s := range play.Steps {
				answers = append(answers, w.step(s, play.Room, answers))
			}
		})
	}
}

func (w *world) step(s step, room string, answers []string) string {
	body := answerTo.ReplaceAllStringFunc(string(s.Body), func(m string) string {
		n, _ := strconv.Atoi(answerTo.FindStringSubmatch(m)[1])
		text, _ := json.Marshal(answers[n-1])
		return strings.Trim(string(text), `"`)
	})
	var headers []string
	for name, value := range s.Headers {
		headers = append(headers, name+": "+value)
	}
	before := len(w.people(room))
	var answer string
	switch {
	case s.Leaves:
		lines := len(w.said(room))
		answer = w.begun(body, headers...)
		lethetest.Eventually(w.t, "the turn has gone on", func() bool { return len(w.said(room)) == lines+2 })
	case strings.Contains(body, `"stream": true`):
		answer = w.stream(strings.Replace(body, `"stream": true`, `"x": 1`, 1), headers...).content
	default:
		answer = w.ask(body, headers...)
	}
	says := w.people(room)[before:]
	if !matches(s.Says, says) || !matches([]string{s.Answer}, []string{answer}) {
		w.t.Errorf("%s:\nsays %q\nwant %q\nanswer %q\nwant %q", s.What, says, s.Says, answer, s.Answer)
	}
	return answer
}

// people are the lines of a room that ada has not said.
func (w *world) people(room string) []string {
	return slices.DeleteFunc(w.said(room), func(l string) bool { return strings.HasPrefix(l, "ada: ") })
}

func matches(want, got []string) bool {
	return slices.EqualFunc(want, got, func(form, text string) bool { return regexp.MustCompile(`(?s)^(?:` + form + `)$`).MatchString(text) })
}

// begun streams until there is some of the answer, and leaves then.
func (w *world) begun(body string, headers ...string) (text string) {
	w.t.Helper()
	resp := w.Do(w.t, "POST", "/v1/chat/completions", body, headers...)
	defer resp.Body.Close()
	for s := bufio.NewScanner(resp.Body); text == "" && s.Scan(); {
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if data, ok := strings.CutPrefix(s.Text(), "data: "); ok && json.Unmarshal([]byte(data), &c) == nil && len(c.Choices) > 0 {
			text = c.Choices[0].Delta.Content
		}
	}
	return text
}
