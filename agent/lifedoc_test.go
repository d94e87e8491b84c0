package agent

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"lethe/internal/test/lethetest"
	"lethe/life"
)

// listed are the fields whose values docs/life.md lists.
var listed = []string{"note why", "epoch why", "stopped why", "resumed why", "error what", "error kind", "result status",
	"fade to", "spent on", "command name"}

var lifePage struct {
	once sync.Once
	text string
}

// explained holds an event that a test reads against docs/life.md: its values are
// among those that the page lists. (Package event tests the names of the fields.)
func explained(t testing.TB, e life.Event) {
	t.Helper()
	lifePage.once.Do(func() { _, lifePage.text, _ = strings.Cut(lethetest.Page(t, "life.md"), "\n## Events\n") })
	_, section, _ := strings.Cut(lifePage.text, "\n### `"+e.Kind+"`\n")
	section, _, _ = strings.Cut(section, "\n### `")
	for _, f := range e.Fields {
		if slices.Contains(listed, e.Kind+" "+f.Key) && !strings.Contains(section, "`"+f.Value+"`") &&
			!strings.Contains(section, "`"+f.Key+"="+f.Value+"`") {
			t.Errorf("docs/life.md does not explain %s %s=%s", e.Kind, f.Key, f.Value)
		}
	}
}
