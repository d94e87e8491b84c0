package wake_test

import (
	"testing"

	"lethe/agent/wake"
)

// What fires for a room that is heard no longer is told in one that the same people read, or nowhere.
func TestHeardFor(t *testing.T) {
	readers := map[string]string{"ann": "ann", "ben": "ben", "too": "ann"}
	v := wake.View{Joined: []string{"ben"}, Together: func(a, b string) bool { return readers[a] == readers[b] }}
	if got := v.HeardFor("ann"); got != "" {
		t.Errorf("Ann's is told in %s", got)
	}
	v.Joined = append(v.Joined, "too")
	if got := v.HeardFor("ann"); got != "too" {
		t.Errorf("Ann's is told in %q", got)
	}
}
