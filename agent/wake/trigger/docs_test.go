package trigger_test

import (
	"lethe/agent/wake/trigger"
	"lethe/internal/test/lethetest"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// The triggers that people and identities are shown can be written as they stand.
func TestExamples(t *testing.T) {
	n := 0
	for _, page := range []string{"docs/triggers.md", "agent/tools/TRIGGERS.md"} {
		text := lethetest.Read(t, filepath.Join(lethetest.Root(t), page))
		for _, m := range regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(text, -1) {
			n++
			if _, err := trigger.Parse("example", []byte(m[1]), time.UTC); err != nil {
				t.Errorf("%s: %v", m[1], err)
			}
		}
		for _, m := range regexp.MustCompile("(?m)^(?:\\||-) `((at|every|cron|watch|mail|tz|quiet|grace) = "+
			"\"[^`]*)`").FindAllStringSubmatch(text, -1) {
			n++
			when := map[string]string{"tz": "every = '1h'\n", "quiet": "every = '1h'\n", "grace": "every = '1h'\n"}[m[2]]
			if _, err := trigger.Parse("example", []byte(when+"say = 'x'\n"+m[1]), time.UTC); err != nil {
				t.Errorf("%s: %v", m[1], err)
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d examples were found", n)
	}
}
