package terminal

import (
	"strings"
	"testing"

	"lethe/agent/status"
)

func TestWhatAnIdentityDoes(t *testing.T) {
	for want, s := range map[string]status.Status{
		"waits: nothing from the model since 12:57:00": {State: status.Thinking, Beside: status.Beside{SilentSince: today.Local()}},
		"402: no money": {State: status.Paused, Error: "402:\nno money"},
		"waits for job 3: sleep 100 · since 17 Nov 12:57": {State: status.Idle,
			Beside: status.Beside{Jobs: []status.Job{{ID: 3, Command: "sleep 100", Began: today.AddDate(0, 0, -3)}}}},
		"waits for 2 children": {State: status.Idle, Beside: status.Beside{Children: 2}},
		"room ops cannot be written": {State: status.Idle,
			Beside: status.Beside{Trouble: []string{"room ops cannot be written"}}},
		"writes: and what the end was": {State: status.Thinking},
	} {
		got := doing(s, status.Live{Text: "how it began\nand what the end was"}, today)
		if got = strings.ReplaceAll(got, today.Local().Format("15:04"), "12:57"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if Bar(1, 1_000_000, 4) != "█   " || Bar(5, 4, 4) != "████" || Bar(0, 0, 4) != "    " {
		t.Errorf("bars: %q %q %q", Bar(1, 1_000_000, 4), Bar(5, 4, 4), Bar(0, 0, 4))
	}
}
