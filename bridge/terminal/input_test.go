package terminal

import "testing"

func TestUnderstand(t *testing.T) {
	for _, tt := range []struct{ in, command, text string }{
		{"", "", ""},
		{" \n ", "", ""},
		{"hello", "", "hello"},
		{"hello  \n", "", "hello"},
		{"  indented", "", "  indented"},
		{"/help", "/help", ""},
		{"/quit ", "/quit", ""},
		{"/room  ops", "/room", "ops"},
		{"/stop", "", "/stop"},
		{"/status", "", "/status"},
		{"/model deepseek-flash", "", "/model deepseek-flash"},
		{"/model", "/model", ""},
		{"/stop it", "/stop", "it"},
		{"/foo bar", "/foo", "bar"},
		{"//foo", "", "/foo"},
		{"//stop", "", " /stop"},
		{" /foo", "", " /foo"},
		{"/etc/passwd\nis a file", "", "/etc/passwd\nis a file"},
	} {
		if command, text := understand(tt.in); command != tt.command || text != tt.text {
			t.Errorf("understand(%q) = %q, %q, want %q, %q", tt.in, command, text, tt.command, tt.text)
		}
	}
}
