package stdin

import (
	"slices"
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
	live   []block // replies as they stream, below the others
	up     int     // rows that lie below the ones shown; at 0 the newest is followed
	unseen int     // blocks that came while scrolled up

	open    bool // acts are shown with what they were called with, and what has come of them
	several bool // identities hear the room: what happens is told with a name
}

// reset shows another room, or the same one from its end.
func (t *transcript) reset(lines []message) {
	t.blocks, t.live = nil, nil
	t.end()
	for _, l := range lines {
		t.add(l)
	}
}

// add shows a line; a question to the letter, since it may be a command that is to be approved.
func (t *transcript) add(l message) {
	_, asks := chat.ParseQuestion(l.Text)
	t.push(block{message: l, raw: asks})
}

// note adds text of the screen's own.
func (t *transcript) note(text string) { t.push(block{message: message{Text: text}, note: true}) }

func (t *transcript) push(b block) {
	t.put(len(t.blocks), b)
	if t.up > 0 {
		t.unseen++
	}
	t.trim()
}

// put makes b the block at i. What is being read stays where it is.
func (t *transcript) put(i int, b block) {
	t.blocks = slices.Insert(t.blocks, i, b)
	t.join(i)
	if i+1 < len(t.blocks) {
		t.join(i + 1)
	}
	if t.up > 0 {
		t.up += len(t.rows(i))
	}
}

// change lets f change block i. What is being read stays where it is.
func (t *transcript) change(i int, f func()) {
	if t.up > 0 {
		t.up -= len(t.rows(i))
	}
	f()
	t.blocks[i].rows = nil
	if t.up > 0 {
		t.up += len(t.rows(i))
	}
}

// trim forgets the oldest blocks, unless somebody may be reading them.
func (t *transcript) trim() {
	if t.up == 0 && len(t.blocks) > 2*history {
		t.blocks = slices.Delete(t.blocks, 0, len(t.blocks)-history)
		t.join(0)
	}
}

// setLive replaces the replies that are being written.
func (t *transcript) setLive(replies []block) {
	before := t.liveRows()
	t.live = replies
	if t.up > 0 {
		t.up += t.liveRows() - before
	}
}

func (t *transcript) liveRows() (n int) {
	for i := len(t.blocks); i < t.count(); i++ {
		n += len(t.rows(i))
	}
	return n
}

// join decides how block i stands to the one before it: a header is repeated
// only when the speaker changes or two minutes have passed.
func (t *transcript) join(i int) {
	b := &t.blocks[i]
	b.rows = nil
	if b.note || b.act != nil {
		return
	}
	last := i - 1 // the message before it
	for last >= 0 && (t.blocks[last].note || t.blocks[last].act != nil) {
		last--
	}
	b.day, b.run = !b.At.IsZero(), false
	if last >= 0 {
		prev := t.blocks[last]
		b.day = b.day && prev.At.Local().Format(time.DateOnly) != b.At.Local().Format(time.DateOnly)
		b.run = last == i-1 && !b.day && prev.Name == b.Name && prev.Agent == b.Agent && prev.mark == b.mark && b.At.Sub(prev.At) < 2*time.Minute
	}
}

// count and at treat the live replies as the last blocks.
func (t *transcript) count() int { return len(t.blocks) + len(t.live) }

func (t *transcript) at(i int) *block {
	if i < len(t.blocks) {
		return &t.blocks[i]
	}
	return &t.live[i-len(t.blocks)]
}

func (t *transcript) rows(i int) []string {
	b := t.at(i)
	if b.rows == nil || b.width != t.width {
		b.rows, b.width = t.layout(*b), t.width
	}
	return b.rows
}

// layout turns a block into rows: a blank row, the day, the header, the text.
func (t *transcript) layout(b block) []string {
	if b.act != nil {
		return b.act.rows(t.width, t.open)
	}
	if b.note {
		var rows []string
		for _, row := range wrap(clean(b.Text), t.width-2) {
			rows = append(rows, " "+dim.Render(row))
		}
		return append([]string{""}, rows...)
	}
	var rows, body []string
	if b.day {
		day := dim.Render(b.At.Local().Format(" Monday 2 January 2006 "))
		rows = append(rows, "", lipgloss.PlaceHorizontal(t.width, lipgloss.Center, day, lipgloss.WithWhitespaceChars("─"), lipgloss.WithWhitespaceStyle(dim)))
	}
	if !b.run {
		rows = append(rows, "", t.header(b))
	} else if b.Agent {
		rows = append(rows, "") // between paragraphs of markdown
	}
	const pad = "   "
	width := t.width - 2*len(pad)
	if b.Agent && !b.raw {
		body = markdown(b.Text, width)
	} else {
		body = wrap(clean(b.Text), width)
	}
	for _, row := range body {
		rows = append(rows, pad+row)
	}
	if b.mark != "" {
		rows = append(rows, pad+warn.Render("✂ "+b.mark))
	}
	return rows
}

func (t *transcript) header(b block) string {
	style := userName
	switch {
	case b.Agent:
		style = agentName
	case b.Name == t.me:
		style = ownName
	}
	head := " " + style.Render(oneLine(b.Name))
	if !b.At.IsZero() {
		head += " " + dim.Render(b.At.Local().Format("15:04"))
	}
	return head
}

// tail is the last rows, at least n of them where there are as many.
func (t *transcript) tail(n int) (rows []string) {
	i := t.count()
	for have := 0; i > 0 && have < n; have += len(t.rows(i)) {
		i--
	}
	for ; i < t.count(); i++ {
		rows = append(rows, t.rows(i)...)
	}
	return rows
}

// scroll moves by n rows, up when negative, as far as there are any.
func (t *transcript) scroll(n int) {
	t.up -= n
	t.up = max(min(t.up, len(t.tail(t.height+t.up))-t.height), 0)
	if t.up == 0 {
		t.end()
	}
}

// end goes back to the newest row.
func (t *transcript) end() { t.up, t.unseen = 0, 0 }

// view is exactly height rows. A room that does not fill the screen sits at its
// bottom, next to the input.
func (t *transcript) view() []string {
	rows := t.tail(t.height + t.up)
	rows = rows[:len(rows)-t.up]
	rows = rows[max(len(rows)-t.height, 0):]
	return append(make([]string, t.height-len(rows), t.height), rows...)
}
