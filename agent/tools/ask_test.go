package tools

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lethe/internal/test/lethetest"
)

func TestRules(t *testing.T) {
	command := func(s string) string { b, _ := json.Marshal(map[string]string{"command": s}); return string(b) }
	for _, tt := range []struct {
		rule, tool, args string
		want             bool
	}{
		{"BASH", "BASH", command("ls"), true},
		{"USE github/*", "USE", `{"name":"github/create_issue","args":{"path":"x","command":"y"}}`, true},
		{"USE github/*", "USE", `{"name":" github/create_issue"}`, true},
		{"USE github/*", "USE", `{"name":"notes/github/x"}`, false},
		{"USE github/*", "USE", `{"name":"notes/read","args":{"name":"github/x"}}`, false},
		{"BASH", "SAY", `{"room":"ops","message":"x"}`, false},
		{"SAY ops", "SAY", `{"room":"#ops","message":"x"}`, true},
		{"SAY ops", "SAY", `{"room":"dev","message":"ops"}`, false},
		{"SAY o?s*", "SAY", `{"Room":"ops-2","message":"x"}`, true},
		{"WRITE_FILE secrets/*", "WRITE_FILE", `{"path":"./a/../secrets/k","content":"x"}`, true},
		{"WRITE_FILE secrets/*", "WRITE_FILE", `{"path":"public","content":"secrets/k"}`, false},
		{"WRITE_FILE secrets/*", "WRITE_FILE", `{"path":"/w/secrets/k","content":"x"}`, true},
		{"WRITE_FILE secrets/*", "WRITE_FILE", `{"path":"/w/public/secrets/k","content":"x"}`, false},
		{"WRITE_FILE /etc/*", "WRITE_FILE", `{"path":"../etc/passwd","content":"x"}`, true},
		{"WRITE_FILE self/MEMORY.md", "WRITE_FILE", `{"path":"self/memory.md","content":"x"}`, true},
		{"BASH  git   push*", "BASH", command("git \t push origin"), true},
		{"BASH git push*", "BASH", command("git pull"), false},
		{"BASH git push", "BASH", command("git -C . push"), true},
		{"BASH git push *", "BASH", command("cd a && /usr/bin/git -c x=y --no-pager push --force"), true},
		{"BASH git push --force", "BASH", command("git push -v origin --force"), true},
		{"BASH git push", "BASH", command("git -C push status"), false},
		{"BASH git push", "BASH", command("git pushy"), false},
		{"BASH git push", "BASH", command("push git"), false},
		{"BASH rm * x", "BASH", command("rm -r a x"), true},
		{"BASH *curl*", "BASH", command("echo $(date; curl x)"), true},
		{"BASH rm *", "BASH", `no object`, false},
		{"BASH rm *", "BASH", command("echo rm -rf x"), false},
		{"BASH rm *", "BASH", command("rmdir x"), false},
		{"BASH a.c", "BASH", command("abc"), false},
	} {
		rule, err := ParseRule(tt.rule)
		lethetest.Must(t, err)
		if got := rule.Matches(tt.tool, json.RawMessage(tt.args), "/w"); got != tt.want {
			t.Errorf("%s of %s %s: %v", tt.rule, tt.tool, tt.args, got)
		}
	}
	rm, err := ParseRule("BASH rm *")
	lethetest.Must(t, err)
	for _, line := range []string{
		"rm", "rm -rf x", "  rm\tx", "cd a; rm x", "cd a\nrm x", "true && rm x", "true||rm x", "ls | rm x", "sleep 1 & rm x",
		"echo $(rm x)", "echo `rm x`", "(rm x)", "{ rm x; }",
		"sudo rm x", "sudo -u bob rm x", "env A=1 rm x", "A=1 rm x", "/bin/rm x", `\rm x`, `'rm' x`, `r"m" x`, "r\\\nm x",
		"bash -c 'rm x'", "nohup nice -n 5 rm x", "timeout 5s rm x",
		"if true; then rm x; fi", "! rm x", "find . -exec rm {} +", "ls | xargs -n 1 rm -f", "exec rm x", ">log rm x",
		"2>/dev/null rm x", "< a rm x", "eval rm x", "time rm x",
	} {
		if !rm.Matches("BASH", json.RawMessage(command(line)), "/w") {
			t.Errorf("%q passes", line)
		}
	}
	work := t.TempDir()
	lethetest.Must(t, os.Mkdir(filepath.Join(work, "secrets"), 0o700))
	lethetest.Must(t, os.Symlink("secrets", filepath.Join(work, "x")))
	if secrets, err := ParseRule("WRITE_FILE secrets/*"); err != nil ||
		!secrets.Matches("WRITE_FILE", json.RawMessage(`{"path":"x/k","content":"x"}`), work) {
		t.Error("a path through a link passes")
	}
	for _, text := range []string{"", "rm *", "bash rm", "WAIT", "EVERYTHING", "../tools"} {
		if _, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), "the name of a tool") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestQuestion(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	lethetest.Must(t, err)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	asked := func(args string) (Question, error) {
		var a waitArgs
		lethetest.Must(t, Decode([]byte(args), &a))
		return a.question(now, berlin)
	}
	for until, want := range map[string]string{
		"90m": "2026-11-20T13:30:00Z", "2h": "2026-11-20T14:00:00Z", "3d": "2026-11-23T12:00:00Z", "2026-11-20 18:00": "2026-11-20T17:00:00Z",
		"2026-11-21T08:00:00Z": "2026-11-21T08:00:00Z", "": "0001-01-01T00:00:00Z",
		"2026-11-20 12:00": "", "tomorrow": "", "-2h": "", "0d": "", "999999999d": "", "2000d": "", "d": "",
	} {
		w, err := asked(`{"question":"x","until":"` + until + `"}`)
		if want == "" && err == nil || want != "" && (err != nil || w.Until.Format(time.RFC3339) != want) {
			t.Errorf("until %q: %v, %v", until, w.Until, err)
		}
	}
	w, err := asked(`{"question":" Go? ","room":"#ops","options":"yes |  no\nnot  now|","for":"@ada, USER:bob"}`)
	if err != nil || w.Text != "Go?" || w.Room != "ops" || strings.Join(w.Options, ",") != "yes,no,not now" ||
		strings.Join(w.For, ",") != "ada,bob" {
		t.Errorf("%+v, %v", w, err)
	}
	for args, want := range map[string]string{
		`{"question":" "}`: "question has 0 bytes",
		`{"question":"x","options":"1|2|3|4|5|6|7|8|9"}`: "at most 8 options",
		`{"question":"x","room":"a b"}`:                  "not a valid name",
	} {
		if _, err := asked(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
