package stdin

import "testing"

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
		{"/room #ops", command{goRoom, "ops"}},
		{"/room", command{intent: rooms}},
		{"/stop", command{say, "/stop"}},
		{"/status", command{say, "/status"}},
		{"/model deepseek-flash", command{say, "/model deepseek-flash"}},
		{"/model", command{unknown, "/model"}},
		{"/stop it", command{unknown, "/stop it"}},
		{"/foo bar", command{unknown, "/foo bar"}},
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
