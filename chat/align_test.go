package chat

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "lethe/internal/test/seed"
)

// Each file is written as words, one a line; "|" in the old one is where the
// reader stands, in the new one where it has to go on. "-" at the end of new:
// nothing aligns. Capital words are tagged lines, small ones are bare.
func TestAlign(t *testing.T) {
	tests := map[string]struct{ old, new string }{
		"appended":                      {"A B C |", "A B C | D"},
		"older line edited":             {"A B C |", "A X C | D"},
		"older line removed":            {"A B C |", "A C | D"},
		"line inserted":                 {"A B C |", "A X B C | D"},
		"first line edited":             {"A B C |", "X B C | D"},
		"history cut":                   {"A B C D E F |", "E F | G"},
		"newest removed":                {"A B C |", "A B | D"},
		"two newest removed":            {"A B C D |", "A B | E"},
		"newest edited, heard again":    {"A B C |", "A B | X D"},
		"newest removed, older edited":  {"A B C D |", "A X C | E"},
		"editor dropped appended lines": {"A B C D |", "A B | X"},
		"block inserted among heard":    {"A B C D |", "A X1 X2 X3 X4 X5 D | E"},
		"block replaced":                {"A B C D E F |", "A X1 X2 F | G"},
		"unheard edited too":            {"A B C | D E", "A X C | Y E F"},
		"unheard removed":               {"A B C | D E", "A X C | E"},
		"swapped":                       {"A B C D |", "A C B D | E"},
		"only one left":                 {"A B C D |", "B |"},
		"nothing left":                  {"A B C |", "X Y -"},
		"empty":                         {"A B |", "-"},

		"repeated, appended":          {"ok ok ok |", "ok ok ok | ok ok"},
		"repeated, older edited":      {"a ok b ok |", "a ok x ok | c"},
		"repeated, newest removed":    {"a ok b ok |", "a ok b | c"},
		"repeated, newest said again": {"a ok b ok |", "a ok b | c ok"},
		"repeated, tail changed":      {"a ok b ok c ok |", "a ok b ok x ok | ok"},
		"repeated, none removed":      {"q a ok a ok |", "x a ok a ok | a ok"},
		"bare lines edited":           {"a b c d e |", "a b x d e | f"},
		"two bare lines edited":       {"a b c d e f |", "a x c y e f | g"},
		"bare newest edited":          {"a b c |", "a b | x d"},
		"bare block inserted":         {"a b c d |", "a b x y z c d | e"},
	}
	line := func(word string) string {
		if word[0] >= 'A' && word[0] <= 'Z' {
			return "[USER:ada 2026-11-20T12:57:16Z] " + word + "\n"
		}
		return word + "\n"
	}
	lines := func(words string) (content string, mark int64) {
		for _, w := range strings.Fields(words) {
			switch w {
			case "|":
				mark = int64(len(content))
			case "-":
				mark = -1
			default:
				content += line(w)
			}
		}
		return content, mark
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			old, at := lines(tt.old)
			path := room(t, old[:at])
			c := readAll(t, path, Cursor{}).Next
			content, mark := lines(tt.new)
			save(t, path, content)
			b := readAll(t, path, c)
			if b.Restarted != (mark < 0) {
				t.Fatalf("restarted %v, read %q", b.Restarted, texts(b.Lines))
			}
			if got := b.start.Offset; got != max(mark, 0) {
				t.Fatalf("goes on after %q, want after %q", content[:got], content[:mark])
			}
		})
	}
}

// entry is a line of the model: a message, and whether the reader has it.
type entry struct {
	text  string
	heard bool
}

// model is a room, a reader of it, and what the reader has to hear.
type model struct {
	t       *rapid.T
	path    string
	lines   []entry
	partial string // behind the last line, without newline
	cursor  Cursor
	count   int
}

// Whatever several writers, editors and truncations do to a room, and however
// the reader reads: each line is heard once, in order.
func TestEveryLineOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		m := &model{t: t, path: filepath.Join(dir, fmt.Sprintf("r%d.md", n))}
		t.Repeat(map[string]func(*rapid.T){
			"append":  m.append,
			"burst":   m.burst,
			"partial": m.writePartial,
			"finish":  m.finishPartial,
			"read":    m.read,
			"peek":    m.readSome,
			"edit":    m.edit,
			"replace": m.replace,
			"away":    m.away,
		})
		m.read(t)
	})
}

// fresh makes a message that nobody has said: tagged, or a bare one.
func (m *model) fresh(t *rapid.T) string {
	m.count++
	text := fmt.Sprintf("message %d%[2]s %[1]d", m.count, strings.Repeat("!", rapid.SampledFrom([]int{0, 0, 1, 300, 5000}).Draw(t, "size")))
	if rapid.Bool().Draw(t, "bare") {
		return "a bare line with its own " + text
	}
	return fmt.Sprintf("[USER:w%d 2026-11-20T12:57:16Z] %s", m.count%3, text)
}

func (m *model) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// raw appends bytes as a foreign writer does.
func (m *model) raw(s string) {
	f, err := os.OpenFile(m.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	m.must(err)
	_, err = f.WriteString(s)
	m.must(err)
	m.must(f.Close())
}

// endPartial is what a writer that knows the rule makes of a torn line.
func (m *model) endPartial() {
	if m.partial != "" {
		m.lines = append(m.lines, entry{text: m.partial})
		m.partial = ""
	}
}

func (m *model) append(t *rapid.T) {
	text := m.fresh(t)
	m.endPartial()
	_, _, err := Append(m.path, []byte(text+"\n"))
	m.must(err)
	m.lines = append(m.lines, entry{text: text})
}

func (m *model) burst(t *rapid.T) {
	m.finishPartial(t)
	var s strings.Builder
	for range rapid.IntRange(1, 40).Draw(t, "lines") {
		text := m.fresh(t)
		m.lines = append(m.lines, entry{text: text})
		s.WriteString(text + rapid.SampledFrom([]string{"\n", "\r\n", "\n\n", "\n \n"}).Draw(t, "end"))
	}
	m.raw(s.String())
}

func (m *model) writePartial(t *rapid.T) {
	s := "torn " + m.fresh(t)
	m.raw(s)
	m.partial += s
}

func (m *model) finishPartial(*rapid.T) {
	if m.partial != "" {
		m.raw("\n")
		m.endPartial()
	}
}

func (m *model) read(t *rapid.T) {
	for m.take(t) {
	}
	for _, e := range m.lines {
		if !e.heard {
			t.Fatalf("not heard: %.80q", e.text)
		}
	}
}

func (m *model) readSome(t *rapid.T) { m.take(t) }

// take reads one batch, perhaps only a part of it, as a process would that is
// killed and comes back with the cursor it wrote down.
func (m *model) take(t *rapid.T) (more bool) {
	b, err := fast.read(m.path, m.cursor, rapid.SampledFrom([]int{1, 500, 10_000, 1 << 20}).Draw(t, "bound"))
	m.must(err)
	n := len(b.Lines)
	if rapid.Bool().Draw(t, "killed") {
		n = rapid.IntRange(0, n).Draw(t, "taken")
	}
	next := 0
	for i, l := range b.Lines[:n] {
		for next < len(m.lines) && m.lines[next].heard {
			next++
		}
		if next == len(m.lines) || m.lines[next].text != string(trimEOL(l.Raw)) {
			t.Fatalf("line %d of the batch is %.80q; realigned %v, restarted %v", i, l.Raw, b.Realigned, b.Restarted)
		}
		m.lines[next].heard = true
	}
	if b.Missing {
		return false
	}
	saved, err := json.Marshal(b.After(n))
	m.must(err)
	m.cursor = Cursor{}
	m.must(json.Unmarshal(saved, &m.cursor))
	return b.More || n < len(b.Lines)
}

// store writes the model's lines as the file, as one kind of editor or another.
func (m *model) store(t *rapid.T) {
	var s strings.Builder
	for _, e := range m.lines {
		s.WriteString(e.text + "\n")
	}
	s.WriteString(m.partial)
	if rapid.Bool().Draw(t, "in place") {
		m.must(os.WriteFile(m.path, []byte(s.String()), 0o600))
		return
	}
	m.must(os.WriteFile(m.path+"~", []byte(s.String()), 0o600))
	m.must(os.Rename(m.path+"~", m.path))
}

// edit is a person's edit anywhere, but for the newest line heard: its new text
// would be heard, rightly. What is edited or put in before the cursor is past.
func (m *model) edit(t *rapid.T) {
	newest := -1
	for i, e := range m.lines {
		if e.heard {
			newest = i
		}
	}
	var out []entry
	for i, e := range m.lines {
		op := "keep"
		if i != newest {
			op = rapid.SampledFrom([]string{"keep", "keep", "keep", "keep", "edit", "remove", "insert"}).Draw(t, "op")
		}
		switch op {
		case "edit":
			e.text = m.fresh(t)
		case "insert":
			out = append(out, entry{text: m.fresh(t), heard: i <= newest})
		}
		if op != "remove" {
			out = append(out, e)
		}
	}
	m.lines = out
	m.store(t)
}

// replace is a new file under the same name, or a truncated one.
func (m *model) replace(t *rapid.T) {
	if _, err := os.Stat(m.path); err != nil {
		return
	}
	m.lines, m.partial = nil, ""
	for range rapid.IntRange(0, 30).Draw(t, "lines") {
		m.lines = append(m.lines, entry{text: m.fresh(t)})
	}
	if rapid.Bool().Draw(t, "recreate") {
		m.must(os.Remove(m.path))
		m.read0(t)
	}
	m.store(t)
}

// read0 reads a room that is missing.
func (m *model) read0(t *rapid.T) {
	b, err := fast.read(m.path, m.cursor, 0)
	m.must(err)
	if !b.Missing || len(b.Lines) > 0 {
		t.Fatalf("a missing room gives %+v", b)
	}
	m.cursor = b.Next
}

// away moves the room away and back, with a look in between.
func (m *model) away(t *rapid.T) {
	if os.Rename(m.path, m.path+".away") != nil {
		return
	}
	m.read0(t)
	m.must(os.Rename(m.path+".away", m.path))
}

// Of equally good places the nearest counts, even in a sea of equal lines.
func TestSeaOfEqualLines(t *testing.T) {
	path := room(t, strings.Repeat("ok\n", 100))
	c := readAll(t, path, Cursor{}).Next
	echo(t, path, strings.Repeat("ok\n", 50))
	if b := readAll(t, path, c); len(b.Lines) != 50 || b.Realigned {
		t.Fatalf("heard %d of 50", len(b.Lines))
	}
	save(t, path, "OK\n"+strings.Repeat("ok\n", 149)) // the same size
	if b := readAll(t, path, c); len(b.Lines) != 50 {
		t.Fatalf("heard %d of 50 after an edit", len(b.Lines))
	}
	save(t, path, "k\n"+strings.Repeat("ok\n", 149)) // a byte less
	b := readAll(t, path, c)
	if len(b.Lines) != 50 || !b.Realigned || !slices.Equal(b.Next.Last, c.Last) {
		t.Fatalf("heard %d of 50 after an edit that moved them", len(b.Lines))
	}
}
