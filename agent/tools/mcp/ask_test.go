package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lethe/internal/test/lethetest"
)

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
