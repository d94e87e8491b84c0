package chat

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
)

// Walking a room forwards and backwards in steps of any size gives its lines, each once.
func TestWindowsMakeTheRoom(t *testing.T) {
	path := Path(lethetest.Dir(t), "dev")
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for i := range rapid.IntRange(0, 40).Draw(t, "lines") {
			fmt.Fprintf(&text, "[USER:ada 2026-11-20T12:57:16Z] %d %s\n", i,
				strings.Repeat("x", rapid.SampledFrom([]int{0, 7, 5000, 70_000}).Draw(t, "long")))
			text.WriteString(rapid.SampledFrom([]string{"", "\n", "  \r\n"}).Draw(t, "blank"))
		}
		text.WriteString("torn")
		lethetest.Must(t, os.MkdirAll(Dir(path[:len(path)-len("/chats/dev.md")]), 0o700))
		lethetest.Must(t, os.WriteFile(path, []byte(text.String()), 0o600))
		all, _, _, err := Tail(path, 100)
		lethetest.Must(t, err)
		n := rapid.IntRange(1, 50).Draw(t, "n")
		var forward, backward []Line
		for from := int64(0); ; {
			lines, err := After(path, from, n)
			lethetest.Must(t, err)
			if len(lines) == 0 {
				break
			}
			forward, from = append(forward, lines...), lines[len(lines)-1].To
		}
		for to := int64(-1); ; {
			lines, err := Before(path, to, n)
			lethetest.Must(t, err)
			if len(lines) == 0 {
				break
			}
			backward, to = append(lines, backward...), lines[0].From
		}
		found, err := Find(path, -1, n, func(raw []byte) bool { return len(raw) < 60_000 && said(raw) })
		lethetest.Must(t, err)
		short := slices.DeleteFunc(slices.Clone(all), func(l Line) bool { return len(l.Raw) >= 60_000 })
		short = short[max(0, len(short)-n):]
		place := func(l Line) [2]int64 { return [2]int64{l.From, l.To} }
		for what, got := range map[string][]Line{"forwards": forward, "backwards": backward} {
			if !slices.EqualFunc(got, all, func(a, b Line) bool { return place(a) == place(b) && a.Text == b.Text && a.Hash == b.Hash }) {
				t.Fatalf("%s: %d lines, the room has %d", what, len(got), len(all))
			}
		}
		if !slices.EqualFunc(found, short, func(a, b Line) bool { return place(a) == place(b) && a.Text == b.Text }) {
			t.Fatalf("%d of the %d newest short lines are found", len(found), len(short))
		}
		// From within a line nothing of it is shown.
		if len(all) > 1 {
			if got, err := After(path, all[0].From+3, 1); err != nil || place(got[0]) != place(all[1]) {
				t.Fatalf("from within the first line: %v, %v", got, err)
			}
		}
	})
	if lines, err := Before(Path(t.TempDir(), "none"), -1, 5); err != nil || lines != nil {
		t.Errorf("of a missing room: %v, %v", lines, err)
	}
}
