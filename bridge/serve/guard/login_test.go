package guard

import (
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"lethe/internal/test/lethetest"
)

// After the clock was put back, new links are good, and those of the time that is still to come are not.
func TestClockIsPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Config{Token: "one"})
		lethetest.Must(t, err)
		time.Sleep(time.Hour)
		g.first = time.Now().Add(time.Hour).Unix() // as the guard of a clock that was an hour ahead
		link, err := url.Parse(Link("one"))
		lethetest.Must(t, err)
		code := link.Query().Get("once")
		if !g.use(code) || g.use(code) {
			t.Error("a new link is not good once")
		}
		if g.use(signed("one", "link", time.Now().Add(time.Hour), "made before")) {
			t.Error("a link of the future is good")
		}
	})
}
