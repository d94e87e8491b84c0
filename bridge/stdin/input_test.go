package stdin

import (
	"testing"

	"lethe/chat"
)

func TestUnderstand(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want command
	}{
		{"", command{}},
		{" \n ", command{}},
		{"hello", command{say, "hello"}},
		{"hello  \n", command{say, "hello"}},
		{"  indented", command{say, "  indented"}},
		{"/help", command{intent: help}},
		{"/quit ", command{intent: quit}},
		{"/rooms", command{intent: rooms}},
		{"/room ops", command{goRoom, "ops"}},
		{"/join #ops", command{goRoom, "ops"}},
		{"/room", command{intent: rooms}},
		{"/stop", command{say, "/stop"}},
		{"/status", command{say, "/status"}},
		{"/model deepseek-flash", command{say, "/model deepseek-flash"}},
		{"/model", command{ask, "/model"}},
		{"/stop it", command{ask, "/stop it"}},
		{"/foo bar", command{ask, "/foo bar"}},
		{"//foo", command{say, "/foo"}},
		{"//stop", command{say, " /stop"}},
		{" /foo", command{say, " /foo"}},
		{"/etc/passwd\nis a file", command{say, "/etc/passwd\nis a file"}},
	} {
		if got := understand(tt.in); got != tt.want {
			t.Errorf("understand(%q) = %+v, want %+v", tt.in, got, tt.want)
		}
	}
}

// What is meant as text never acts.
func TestLiteralIsNoCommand(t *testing.T) {
	for _, in := range []string{"//stop", "//status", "//model x", " /stop"} {
		c := understand(in)
		line, err := chat.Format(false, "ada", today, c.Text)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, ok := chat.Command(chat.Parse(line)); ok || c.intent != say {
			t.Errorf("%q acts as a command: %+v", in, c)
		}
	}
}

func TestComplete(t *testing.T) {
	names := []string{"dev", "docs", "ops"}
	for in, want := range map[string]string{
		"/h": "/help", "/m": "/model ", "/st": "/st", "/sto": "/stop", "/r": "/room", "/x": "/x", "hello": "hello",
		"/room o": "/room ops", "/room d": "/room d", "/room x": "/room x", "": "",
	} {
		if got := complete(in, names); got != want {
			t.Errorf("complete(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestRecall(t *testing.T) {
	var r recall
	if _, ok := r.back("draft"); ok {
		t.Error("an empty history went back")
	}
	r.add("one")
	r.add("two")
	r.add("two")
	for _, want := range []string{"two", "one"} {
		if got, ok := r.back("draft"); !ok || got != want {
			t.Errorf("back to %q, want %q", got, want)
		}
	}
	if _, ok := r.back(""); ok {
		t.Error("went back past the first")
	}
	for _, want := range []string{"two", "draft"} {
		if got, ok := r.forth(); !ok || got != want {
			t.Errorf("forth to %q, want %q", got, want)
		}
	}
	if _, ok := r.forth(); ok {
		t.Error("went forth past the draft")
	}
}
