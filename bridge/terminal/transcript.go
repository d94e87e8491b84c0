package terminal

import (
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"lethe/chat"
)

// maxLiveMarkdown bounds the bytes of a reply that is laid out as markdown again for
// each piece of it that comes; a longer one is shown as it is written.
const maxLiveMarkdown = 8 << 10

// block is one message, laid out for the width it was last shown at.
type block struct {
	message
	day   bool   // a new day begins with it
	run   bool   // it goes on where the one before left off: no header
	note  bool   // from the screen itself, not in the room
	raw   bool   // not as markdown
	act   *act   // what an identity has done, in the place of a message
	mark  string // why the message is not in the room
	width int
	rows  []string
}

// transcript is the scrolled part of the screen: the messages of a room and,
// under them, the replies being written. It lays out only what is looked at and
// what lies below, so a long room costs nothing until it is scrolled through.
type transcript struct {
	width, height int
	me            string

	blocks []block
	live   []block          // replies as they stream, below the others
	turns  map[string]turns // by the name of an identity

	back   bool // scrolled back: the screen begins at block top, without its first skip rows
	top    int
	skip   int
	unseen int // blocks that came meanwhile

	open    bool // acts are shown with their arguments and their output
	several bool // identities hear the room: acts are told with a name
}

// reset shows another room, or the same one from its end.
func (t *transcript) reset(lines []message) {
	t.blocks, t.live, t.turns = nil, nil, map[string]turns{}
	t.end()
	for _, l := range lines {
		t.add(l)
	}
}

// add shows a line; a question to the letter, since it may be a command that is to be approved.
func (t *transcript) add(l message) {
	_, asks := chat.ParseQuestion(l.Text)
	l.Text = withFiles(l)
	t.push(block{message: l, raw: asks})
}

// has reports whether the newest line of an agent begins with a text.
func (t *transcript) has(name, text string) bool {
	for _, b := range slices.Backward(t.blocks) {
		if b.By(name) {
			return strings.HasPrefix(strings.TrimSpace(b.Text), text)
		}
	}
	return false
}

// note adds text of the screen's own.
func (t *transcript) note(text string, at time.Time) {
	t.push(block{message: message{Text: text, At: at}, note: true})
}

func (t *transcript) push(b block) {
	t.put(len(t.blocks), b)
	t.unseen++
	t.trim()
}

// put makes b the block at i.
func (t *transcript) put(i int, b block) {
	t.blocks = append(t.blocks[:i], append([]block{b}, t.blocks[i:]...)...)
	if i <= t.top {
		t.top++
	}
	t.join(i)
	if i+1 < len(t.blocks) {
		t.join(i + 1)
	}
}

// trim forgets the oldest blocks, unless somebody may be reading them.
func (t *transcript) trim() {
	if !t.back && len(t.blocks) > 2*history {
		t.blocks = slices.Delete(t.blocks, 0, len(t.blocks)-history)
		t.join(0)
	}
}

// join decides how block i stands to the one before it: a header is repeated
// only when the speaker changes or two minutes have passed.
func (t *transcript) join(i int) {
	shown := &t.blocks[i]
	shown.rows = nil
	if !shown.said() {
		return
	}
	last := i - 1 // the message before it
	for last >= 0 && !t.blocks[last].said() {
		last--
	}
	shown.day, shown.run = !shown.At.IsZero(), false
	if last < 0 {
		return
	}
	prev := t.blocks[last]
	if prev.At.Local().Format(time.DateOnly) == shown.At.Local().Format(time.DateOnly) {
		shown.day = false
	}
	follows := last == i-1 && !shown.day
	shown.run = follows && shown.goesOn(prev)
}

// said reports whether a block is a message of the room.
func (b block) said() bool { return !b.note && b.act == nil }

// goesOn reports whether the speaker of the block before it speaks on, within two minutes.
func (b block) goesOn(prev block) bool {
	if prev.Name != b.Name || prev.Agent != b.Agent {
		return false
	}
	return prev.mark == b.mark && b.At.Sub(prev.At) < 2*time.Minute
}

// count and rows treat the live replies as the last blocks.
func (t *transcript) count() int { return len(t.blocks) + len(t.live) }

func (t *transcript) rows(i int) []string {
	all := t.blocks
	if i >= len(all) {
		all, i = t.live, i-len(all)
	}
	b := &all[i]
	if b.rows == nil || b.width != t.width {
		b.rows, b.width = t.layout(*b), t.width
	}
	return b.rows
}

// layout turns a block into rows: a blank row, the day, the header, the text.
func (t *transcript) layout(shown block) (rows []string) {
	const pad = "   "
	width := t.width - 2*len(pad)
	switch {
	case shown.act != nil:
		return shown.act.rows(t.width, t.open)
	case shown.note:
		for _, row := range wrap(clean(shown.Text), t.width-2) {
			rows = append(rows, " "+dim.Render(row))
		}
		return append([]string{""}, rows...)
	}
	if shown.day {
		day := dim.Render(shown.At.Local().Format(" Monday 2 January 2006 "))
		line, faint := lipgloss.WithWhitespaceChars("─"), lipgloss.WithWhitespaceStyle(dim)
		rows = append(rows, "", lipgloss.PlaceHorizontal(t.width, lipgloss.Center, day, line, faint))
	}
	if !shown.run {
		rows = append(rows, "", t.header(shown))
	} else if shown.Agent {
		rows = append(rows, "") // between paragraphs of markdown
	}
	body := wrap(clean(shown.Text), width)
	if shown.Agent && !shown.raw {
		body = laidOut(shown.Text, width)
	}
	for _, row := range body {
		rows = append(rows, pad+row)
	}
	if shown.mark != "" {
		rows = append(rows, pad+warn.Render("✂ "+shown.mark))
	}
	return rows
}

func (t *transcript) header(shown block) string {
	style := userName
	switch {
	case shown.Agent:
		style = agentName
	case shown.Name == t.me:
		style = ownName
	}
	head := " " + style.Render(oneLine(shown.Name))
	if !shown.At.IsZero() {
		head += " " + dim.Render(shown.At.Local().Format("15:04"))
	}
	return head
}

// newest returns the first block of a screen that ends with the newest row, and its rows above the screen.
func (t *transcript) newest() (top, skip int) {
	top = t.count()
	have := 0
	for top > 0 && have < t.height {
		top--
		have += len(t.rows(top))
	}
	return top, max(have-t.height, 0)
}

// scroll moves by n rows, up when negative, but not beyond the first and the newest.
func (t *transcript) scroll(n int) {
	newest, skipped := t.newest()
	if !t.back {
		t.top, t.skip = newest, skipped
	}
	t.top = min(t.top, t.count())
	t.skip += n
	for t.skip < 0 && t.top > 0 {
		t.top--
		t.skip += len(t.rows(t.top))
	}
	t.skip = max(t.skip, 0)
	for t.top < t.count() && t.skip >= len(t.rows(t.top)) {
		t.skip -= len(t.rows(t.top))
		t.top++
	}
	within := t.top == newest && t.skip < skipped
	t.back = t.top < newest || within
	if !t.back {
		t.end()
	}
}

// end goes back to the newest row.
func (t *transcript) end() { t.back, t.unseen = false, 0 }

// begin goes to the first row of the newest block if not all of it fits, and else to the newest row.
func (t *transcript) begin() {
	t.end()
	if last := len(t.blocks) - 1; len(t.rows(last)) > t.height {
		t.back, t.top, t.skip = true, last, 0
	}
}

// view is exactly height rows. A room that does not fill the screen sits at its
// bottom, next to the input.
func (t *transcript) view() (rows []string) {
	i, skip := t.newest()
	if t.back {
		i, skip = t.top, t.skip
	}
	for ; i < t.count() && len(rows) < skip+t.height; i++ {
		rows = append(rows, t.rows(i)...)
	}
	rows = rows[skip:min(len(rows), skip+t.height)]
	return append(make([]string, t.height-len(rows), t.height), rows...)
}
