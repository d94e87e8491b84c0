package page

import (
	"context"
	"errors"
	"slices"
	"testing"

	"lethe/agent/home"
	"lethe/internal/test/lethetest"
)

// A past request is asked again after a price and a yes; no field of the form is another flag.
func TestRerun(t *testing.T) {
	m := manages(t)
	_, err := home.Boot(m.Backend.Home.Home, m.Backend.Store, home.BootOptions{Name: "ada", Rooms: []string{"dev"}})
	lethetest.Must(t, err)
	var asked []string
	m.Backend.Rerun = func(_ context.Context, args ...string) ([]byte, error) {
		asked = args
		if !slices.Contains(args, "--yes=true") {
			return nil, errors.New("1 requests: at most 0.02 USD")
		}
		return []byte("e3 then: At <nine>.\ne3 now: BASH {}\n"), nil
	}
	lethetest.Words(t, m.get("/agents/ada/manage"), "/agents/ada/rerun")
	lethetest.Words(t, m.post("/agents/ada/rerun/ask", 400, "at", "e3", "limit", "9000", "soul", "/etc/passwd", "home", "/"),
		"at most 0.02 USD", `value="9000"`, `name="yes" value="true"`)
	if want := []string{"ada", "--at=e3", "--limit=9000"}; !slices.Equal(asked, want) {
		t.Errorf("asked with %q", asked)
	}
	lethetest.Words(t, m.post("/agents/ada/rerun/ask", 200, "at", "e3", "yes", "true"), "At &lt;nine&gt;.", "BASH {}")
}
