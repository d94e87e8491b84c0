package main_test

import (
	"strings"
	"testing"

	"lethe/agent/config"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
)

// Any config.toml is refused by name, or says something that the program can use.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{
		"", "user = \"you\"", "[model]\npreset = \"deepseek\"\nmax_tokens = 256\n[fade]\ntarget = nan",
		"[fade]\ntarget = -0.0", "[tools]\nbash_timeout = \"-1s\"", "[tools]\nbash_timeout = \"99999999h\"",
		"[telegram]\nusers = [\"7=Ada\", \"7\"]\nchats = [\"-100\"]\n[telegram.flood]\nuser = \"30/1m\"\nroom = \"off\"",
		"[[telegram.route]]\nchat = \"-100\"\ntopic = -1\nroom = \"../x\"",
		"[telegram.flood]\nuser = \"999999999999/1ns\"", "[context]\nlimit = 9223372036854775808",
		"[context]\nlimit = -1", "a.b.c = 1\n\"\\u0000\\n\" = 2", "user = 1979-05-27T07:32:00Z",
		"x = " + strings.Repeat("[", 5000), "\xff\x00\u2028",
		"[recall]\nembeddings_url = \"http://\\u202e\"\nembeddings_model = \"x\"", "default_identity = \"../x\"",
		"[model]\r\nbase_url = \"file:///etc\"\r\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s cli.Settings
		err := config.Parse("config.toml", []byte(text), &s)
		if err != nil {
			var told strings.Builder
			cli.New(strings.NewReader(""), nil, &told).Report(err)
			lines := strings.Count(told.String(), "\n")
			byName := strings.HasPrefix(told.String(), "lethe: read config.toml: ")
			if !byName || lines > 2 || cli.CodeOf(err) != exit.Usage {
				t.Fatalf("%q: %q", text, told.String())
			}
			return
		}
		if s.Fade.Target != nil && !(*s.Fade.Target >= 0 && *s.Fade.Target <= 1) || s.Tools.BashTimeout < 0 || s.Context.Limit < 0 {
			t.Fatalf("%q: %+v", text, s)
		}
		c := s.Bridge()
		if err := c.Check(); err != nil {
			t.Fatalf("%q: %+v, %v", text, c, err)
		}
	})
}
