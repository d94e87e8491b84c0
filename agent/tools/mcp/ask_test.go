package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/internal/test/lethetest"
)

// The schema of a question is read by what it means, whichever version it names.
func TestVersionsOfSchemas(t *testing.T) {
	confined(t)
	for _, version := range []string{
		"", "http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema#", "urn:unknown",
	} {
		server := actAs("good")
		server.Env = map[string]string{"SCHEMA": version}
		s := servers(t, t.TempDir(), map[string]Server{"new": server})
		use(s, "new/confirm", `{"text":"all"}`)
		const yes = `{"question":"Really delete all?","action":"accept","content":{"why":"spring"}}`
		if got := use(s, "new/answer", yes); got != "accept, since spring" {
			t.Errorf("%q: %s", version, got)
		}
	}
	const wrong = `{"question":"Really delete all?","action":"accept","content":{"why":7}}`
	s := servers(t, t.TempDir(), map[string]Server{"new": actAs("good")})
	use(s, "new/confirm", `{"text":"all"}`)
	if got := use(s, "new/answer", wrong); !strings.Contains(got, "does not match requested schema") {
		t.Errorf("a wrong answer: %s", got)
	}
}

// A question that is open when the session ends is dismissed before that: by older protocols the server waits for the
// answer, and would wait for ever.
func TestDismissed(t *testing.T) {
	for name, end := range map[string]func(*Servers){
		"the server is stopped":           (*Servers).Close,
		"nobody answers, and it may idle": func(s *Servers) { s.all[0].dismiss(s.all[0].waiting[""]) },
	} {
		t.Run(name, func(t *testing.T) {
			answers := make(chan string, 2)
			asking := sdk.NewServer(&sdk.Implementation{Name: "asks"}, nil)
			ask := func(_ context.Context, r *sdk.CallToolRequest, _ text) (*sdk.CallToolResult, any, error) {
				for _, question := range []string{"Really?", "Are you sure?"} {
					answer, err := r.Session.Elicit(t.Context(), &sdk.ElicitParams{Message: question})
					if err != nil {
						answers <- err.Error()
						return nil, nil, err
					}
					answers <- answer.Action
				}
				return &sdk.CallToolResult{}, nil, nil
			}
			sdk.AddTool(asking, &sdk.Tool{Name: "ask"}, ask)
			handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return asking }, nil)
			heard := make(chan int, 1) // how many answers, when the session ends
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answered := true
				if r.Method == http.MethodDelete {
					n := len(answers)
					answered = n == 2
					heard <- n
				}
				if answered { // else the SDK's server would wait for ever, and the test for it
					handler.ServeHTTP(w, r)
				}
			}))
			defer web.Close()
			defer web.CloseClientConnections()
			s := servers(t, t.TempDir(), map[string]Server{"far": {URL: web.URL}})
			defer s.Close()
			s.idle = time.Nanosecond
			lethetest.Words(t, use(s, "far/ask", `{"text":""}`), "asks people before it goes on", "Really?")
			end(s)
			if n := <-heard; n != 2 {
				t.Fatalf("the session ends with %d answers to 2 questions", n)
			}
			for range 2 {
				if action := <-answers; action != "cancel" {
					t.Error(action)
				}
			}
		})
	}
}
