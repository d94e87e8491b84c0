package event

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/test/lethetest"
	"lethe/life"
)

// full is an event of each kind with all its fields, as its line has them.
var full = []struct {
	event Event
	line  string
}{
	{Boot{Name: "ada", Version: "1"}, `boot name=ada version=1`},
	{Boot{Name: "ada-3fa9", Version: "1", Parent: "ada", Task: "task-3fa9c1d2"}, `boot name=ada-3fa9 version=1 parent=ada task=task-3fa9c1d2`},
	{Joined{N: 1, Room: "dev", First: &First{Inode: 1 << 63, At: 5, Before: "ab", Last: Hashes{"a", "b"}, Total: 2, End: 9}},
		`joined e1 room=dev inode=9223372036854775808 at=5 before=ab last=a,b total=2 end=9`},
	{Joined{N: 1, Room: "dev", First: &First{}}, `joined e1 room=dev inode=0 at=0 before="" last="" total=0`},
	{Joined{N: 1, Room: "dev"}, `joined e1 room=dev`},
	{Left{Room: "dev"}, `left room=dev`},
	{Inbound{N: 2, Passage: passage, Lines: 3, Own: []Span{{0, 1}, {2, 3}}, Moved: true, Asleep: true, Show: 9},
		`inbound e2 room=dev inode=7 at=1..2 before=ab lines=3 own=0..1 own=2..3 moved=yes wake=no show=9`},
	{Inbound{N: 2, Passage: passage, Lines: 1, Answers: "q3fa9c1", Choice: "go on"},
		`inbound e2 room=dev inode=7 at=1..2 before=ab lines=1 answers=q3fa9c1 choice="go on"`},
	{Asked{ID: "k4", Call: "e3.1", Posting: notice.Posting}, `asked k4 call=e3.1 ts=2026-11-20T12:57:16Z post=dev@1:2 post=ops@3:4`},
	{Run{ID: "q3fa9c2", Tool: "SPAWN", Child: "ada-3fa9", Notice: notice},
		`run q3fa9c2 SPAWN child=ada-3fa9 say=well ts=2026-11-20T12:57:16Z post=dev@1:2 post=ops@3:4`},
	{Run{ID: "q3fa9c1", Tool: "SAY", Notice: notice}, `run q3fa9c1 SAY say=well ts=2026-11-20T12:57:16Z post=dev@1:2 post=ops@3:4`},
	{Note{N: 4, Why: "run", Run: "q3fa9c1", Status: "ok", Job: 5}, `note e4 why=run run=q3fa9c1 status=ok job=5`},
	{Grant{Hash: "ab", By: "ada"}, `grant hash=ab by=ada`},
	{Command{ID: "k1", Passage: passage, Name: "/model", By: "ada", Line: "a line", Last: "cd", Early: true, Moved: true,
		Model: "m", Raise: 2, Of: "day", Day: "2026-11-20", Relay: []Place{{"task-3fa9c1d2", chat.Mark{Inode: 5, From: 6}}},
		Forget: Entries{1, 9}, Notice: notice},
		`command k1 room=dev inode=7 at=1..2 before=ab name=/model by=ada line="a line" last=cd early=yes moved=yes model=m ` +
			`raise=2.000000 of=day day=2026-11-20 relay=task-3fa9c1d2@5:6 forget=e1..e9 say=well ts=2026-11-20T12:57:16Z post=dev@1:2 post=ops@3:4`},
	{Reply{N: 3, Turn: 1, Model: "m", Tokens: tokens, Weight: 5, Finish: "stop", Posting: notice.Posting, Refused: true, Caveat: "x"},
		`reply e3 turn=1 model=m in=1 cached=2 out=3 usd=0.000004 day=2026-11-20 hold=7 weight=5 finish=stop ` +
			`ts=2026-11-20T12:57:16Z post=dev@1:2 post=ops@3:4 refused=yes caveat=x`},
	{Call{ID: "e3.1", Tool: "SAY", Posting: notice.Posting}, `call e3.1 SAY ts=2026-11-20T12:57:16Z post=dev@1:2 post=ops@3:4`},
	{Call{ID: "e3.3", Tool: "EDIT_FILE", Change: Change{File{"a:b.md", "ab"}, true}}, `call e3.3 EDIT_FILE makes=a:b.md:ab kept=yes`},
	{Run{ID: "q3fa9c3", Tool: "WRITE_FILE", Change: Change{Makes: File{"a b", "ab"}}}, `run q3fa9c3 WRITE_FILE makes="a b:ab"`},
	{Result{ID: "e3.3", Tool: "READ_FILE", Status: "ok", Saw: File{"/x", "ab"}}, `result e3.3 READ_FILE status=ok saw=/x:ab`},
	{Note{N: 4, Why: "run", Saw: File{"x", "ab"}, Run: "q3fa9c3", Status: "ok"}, `note e4 why=run saw=x:ab run=q3fa9c3 status=ok`},
	{Call{ID: "e3.2", Tool: "SPAWN", Child: "ada-3fa9", Posting: notice.Posting},
		`call e3.2 SPAWN child=ada-3fa9 ts=2026-11-20T12:57:16Z post=dev@1:2 post=ops@3:4`},
	{Result{ID: "e3.1", Tool: "SAY", Status: "ok", Show: 9, File: File{"MEMORY.md", "ab"}, Opened: "cd",
		Images: []string{hash + ":4x3"}, Job: 5, Withdrawn: "qe0ec7c"},
		`result e3.1 SAY status=ok show=9 file=MEMORY.md:ab opened=cd image=` + hash + `:4x3 job=5 withdrawn=qe0ec7c`},
	{Inbound{N: 2, Passage: passage, Lines: 1, Struck: []string{"81c68b6ce806a784:143086e4636ae27e"}},
		"inbound e2 room=dev inode=7 at=1..2 before=ab lines=1 struck=81c68b6ce806a784:143086e4636ae27e"},
	{Inbound{N: 2, Passage: passage, Lines: 1, Images: []string{hash + ":640x480", hash + ":4x3"}},
		`inbound e2 room=dev inode=7 at=1..2 before=ab lines=1 image=` + hash + `:640x480 image=` + hash + `:4x3`},
	{Posted{ID: "e3.1", Passage: passage, Torn: []Span{{0, 1}}}, `posted e3.1 room=dev inode=7 at=1..2 before=ab torn=0..1`},
	{Note{N: 4, Why: "file", File: File{"MEMORY.md", "ab"}, Show: 9, Places: true}, `note e4 why=file file=MEMORY.md:ab show=9 mark=places`},
	{Hint{N: 5, Why: "inbound", Refs: []string{"ab", "cd"}}, `hint e5 why=inbound ref=ab ref=cd`},
	{Error{ID: "k2", What: "model", Failure: "garbage", Window: 9, Text: "x", Notice: notice},
		`error k2 what=model kind=garbage window=9 text=x say=well ts=2026-11-20T12:57:16Z post=dev@1:2 post=ops@3:4`},
	{Paused{ID: "k3", Why: "cut", Ended: true, Until: at, Notice: notice},
		`paused k3 why=cut turn=ended until=2026-11-20T12:57:16Z say=well ts=2026-11-20T12:57:16Z post=dev@1:2 post=ops@3:4`},
	{Model{ID: "k3", Use: "openai:m@high", For: "n", Text: "x", Notice: notice},
		`model k3 use=openai:m@high for=n text=x say=well ts=2026-11-20T12:57:16Z post=dev@1:2 post=ops@3:4`},
	{Fired{ID: "k4", By: "cron-brief", Missed: 2, Silent: 3, Manual: "cd", Seen: "ab", Again: "0f", Notice: notice},
		`fired k4 by=cron-brief missed=2 silent=3 manual=cd seen=ab again=0f say=well ts=2026-11-20T12:57:16Z post=dev@1:2 post=ops@3:4`},
	{Fired{ID: "k5", By: "mail-ann", Trigger: "post", Seen: "1.2.3 4.5.6", Notice: notice},
		`fired k5 by=mail-ann trigger=post seen="1.2.3 4.5.6" say=well ts=2026-11-20T12:57:16Z post=dev@1:2 post=ops@3:4`},
	{Fade{Entries: Entries{1, 9}, To: "gist", Relevance: 3}, `fade e1..e9 to=gist rel=3`},
	{Spent{On: "turn", Calls: 2, Tokens: tokens, Estimated: true},
		`spent on=turn calls=2 in=1 cached=2 out=3 usd=0.000004 day=2026-11-20 hold=7 estimated=yes`},
	{Epoch{K: 0, Why: "boot"}, `epoch 0 why=boot`},
	{Resumed{Version: "1", Why: "asked"}, `resumed version=1 why=asked`},
	{Stopped{Why: "signal"}, `stopped why=signal`},
	{Boot{Name: "eve", Version: "1", Fork: Moment{hash, 7, hash}}, `boot name=eve version=1 fork=` + hash + `:7:` + hash},
	{Sealed{Size: 7, Root: "r/+", Key: "k", Sig: "s"}, `sealed size=7 root=r/+ key=k sig=s`},
	{Moved{Custody: 1}, `moved custody=1`},
	{Received{Custody: 1, Key: "k"}, `received custody=1 key=k`},
	{Erased{Why: "erased", Blobs: []Buried{{hash, hash}}, Lines: []ErasedLine{{0, hash, hash}, {9, hash, hash}}},
		`erased why=erased blob=` + hash + `:` + hash + ` line=0:` + hash + `:` + hash + ` line=9:` + hash + `:` + hash},
	{Labelled{Label: "before"}, `labelled label=before`},
}

var (
	hash    = strings.Repeat("ab", 32)
	at      = time.Date(2026, 11, 20, 12, 57, 16, 0, time.UTC)
	passage = Passage{Room: "dev", Inode: 7, At: Span{1, 2}, Before: "ab"}
	notice  = Notice{Say: "well", Posting: Posting{TS: at,
		Posts: []Place{{"dev", chat.Mark{Inode: 1, From: 2}}, {"ops", chat.Mark{Inode: 3, From: 4}}}}}
	tokens = Tokens{In: 1, Cached: 2, Out: 3, USD: 0.000004, Day: "2026-11-20", Hold: 7}
)

func TestLines(t *testing.T) {
	for _, f := range full {
		line := Line(at, f.event, blobs.Ref{Hash: "0123456789abcdef"})
		if got := strings.TrimPrefix(line.String(), "[2026-11-20T12:57:16.000000Z] "); got != f.line+" ◱hash=0123456789abcdef gist=◲" {
			t.Errorf("%+v is written as\n%s\nwant\n%s", f.event, got, f.line)
		}
		if got, err := Parse(line); err != nil || !reflect.DeepEqual(got, f.event) {
			t.Errorf("%s\nis read as %+v, %v", line, got, err)
		}
	}
}

// What is no number, range or time is refused, and never 0.
func TestMalformed(t *testing.T) {
	for line, want := range map[string]string{
		"dreamt":                            "unknown event",
		"left":                              "room: missing",
		"inbound e2 room=dev":               "at: missing",
		"inbound e2 room=dev at=5..1":       "not a range of bytes",
		"inbound e2 room=dev at=0..x":       "not a range of bytes",
		"inbound room=dev at=0..1":          "not the number of an entry",
		"note e0":                           "not the number of an entry",
		"note e02":                          "not the number of an entry",
		"note e2.1":                         "not the number of an entry",
		"note e2 show=many":                 "not a number",
		"note e2 show=99999999999999999999": "not a number",
		"note e2 file=MEMORY.md":            "not a version of a file",
		"reply e3 in=1.5":                   "not a number",
		"reply e3 usd=NaN":                  "not a number",
		"reply e3 usd=x":                    "not a number",
		"reply e3 ts=now":                   "cannot parse",
		"reply e3 post=dev":                 "not the end of a room",
		"reply e3 post=dev@1:-2":            "not the end of a room",
		"joined e1 room=dev at=x":           "not a number",
		"joined e1 room=dev at=1 inode=-1":  "not a number",
		"result e3.1 BASH":                  "status: missing",
		"fade e3 to=gist":                   "not a range of entries",
		"fade e9..e3 to=gist":               "not a range of entries",
		"epoch one":                         "not a number",
		"boot fork=ab:1:cd":                 "not a moment",
		"erased blob=ab":                    "not a blob",
		"erased line=x:" + hash:             "not a line",
		"sealed size=1 key=k sig=s":         "root: missing",
	} {
		e, err := life.ParseLine("[2026-11-20T12:57:16.000000Z] " + line + " #000000000000")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Parse(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is read as %+v, %v; want %q", line, got, err, want)
		}
	}
}

// docs/life.md has a question that was taken back, a model that stands in, and a change of a file.
func TestExamplesOnThePage(t *testing.T) {
	for name, want := range map[string]Event{
		"withdrawn": Result{ID: "e14.1", Tool: "WAIT", Status: "ok", Withdrawn: "qe0ec7c"},
		"model": Model{ID: "k9", Use: "openai:gpt-5.1@high", For: "deepseek-v4-pro",
			Text: "call deepseek-v4-pro at api.deepseek.com: status 503: busy"},
		"saw": Call{ID: "e15.1", Tool: "EDIT_FILE", Change: Change{Makes: File{"a.md", "9d1f60a7c2b3e845"}, Kept: true}},
	} {
		line, err := life.ParseLine(strings.TrimSpace(lethetest.Blocks(t, "life.md", name)[0]))
		lethetest.Must(t, err)
		if got, err := Parse(line); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the page's line is %+v, %v", got, err)
		}
	}
}

// What older programs left out is zero, and what newer ones add is ignored.
func TestOlderAndNewerLines(t *testing.T) {
	for line, want := range map[string]Event{
		"reply e3 turn=1 in=4 color=red": Reply{N: 3, Turn: 1, Tokens: Tokens{In: 4}},
		"spent on=turn":                  Spent{On: "turn"},
		"hint e4":                        Hint{N: 4},
	} {
		e, err := life.ParseLine("[2026-11-20T12:57:16.000000Z] " + line + " #000000000000")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Parse(e); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, %v", line, got, err)
		}
	}
}

// docs/life.md has the arguments and fields of each kind, in their order; those
// in brackets are not always written.
func TestFormsOnThePage(t *testing.T) {
	sections := regexp.MustCompile("(?m)^### `([a-z]+)`\n\n`([^`]+)`\n").FindAllStringSubmatch(lethetest.Page(t, "life.md"), -1)
	if len(sections) != len(kinds) {
		t.Errorf("the page has %d kinds of events, the package %d", len(sections), len(kinds))
	}
	for _, section := range sections {
		kind, ok := kinds[section[1]]
		if !ok {
			t.Errorf("the page has %s, the package has not", section[1])
			continue
		}
		names, optional := forms(kind, false)
		var want []string
		brackets := false
		for _, word := range strings.Fields(section[2])[1:] {
			brackets = brackets || strings.HasPrefix(word, "[")
			name, _, isField := strings.Cut(strings.Trim(word, "[]"), "=")
			if isField {
				name += "="
			}
			if !strings.ContainsAny(word, "<…") && !slices.Contains(want, name) {
				want = append(want, name)
				if brackets && !slices.Contains(optional, name) {
					t.Errorf("the page has %s with %s in brackets, which the package always writes", section[1], name)
				}
			}
			brackets = brackets && !strings.HasSuffix(word, "]")
		}
		if !slices.Equal(want, names) {
			t.Errorf("the page has %s with\n%q\nthe package\n%q", section[1], want, names)
		}
	}
}

// forms lists the arguments and fields of a type, and those not always written.
func forms(of reflect.Type, group bool) (names, optional []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		t := tagOf(f)
		switch {
		case t.arg != "":
			names = append(names, t.arg)
		case t.key != "":
			names = append(names, t.key+"=")
			if group || t.opt || t.value != "" || f.Type.Kind() == reflect.Slice {
				optional = append(optional, t.key+"=")
			}
		default:
			part := f.Type
			if part.Kind() == reflect.Pointer {
				part = part.Elem()
			}
			more, open := forms(part, group || part != f.Type)
			names, optional = append(names, more...), append(optional, open...)
		}
	}
	return names, optional
}

// Any line is refused, or read as an event that is written and read as itself.
func FuzzParse(f *testing.F) {
	for _, e := range full {
		f.Add(e.line)
	}
	f.Add("joined e1 room=dev at=-1 last=,,, end=-1")
	f.Add("reply e3 ts=2026-11-20T12:57:16.5+14:00 usd=1e300")
	f.Fuzz(func(t *testing.T, text string) {
		line, err := life.ParseLine("[2026-11-20T12:57:16.123456Z] " + text + " #000000000000")
		if err != nil {
			return
		}
		e, err := Parse(line)
		if err != nil {
			return
		}
		once := Line(line.At, e)
		again, err := Parse(once)
		if err != nil || Line(line.At, again).String() != once.String() {
			t.Fatalf("%s\nis written as\n%s, which is read as %+v, %v", line, once, again, err)
		}
	})
}
