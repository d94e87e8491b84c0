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
