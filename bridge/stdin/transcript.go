package stdin

import (
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
)

// keep bounds the messages held in memory while the end of the room is followed.
const keep = 2 * history

// maxLiveMarkdown bounds the bytes of a reply that is laid out as markdown again for
// each piece of it that comes; a longer one is shown as it is written.
const maxLiveMarkdown = 8 << 10

// block is one message, laid out for the width it was last shown at.
type block struct {
	message
	day   bool // a new day begins with it
	run   bool // it goes on where the one before left off: no header
	note  bool // from the screen itself, not in the room
	width int
	rows  []string
}

// transcript is the scrolled part of the screen: the messages of a room and,
// under them, the replies being written. It lays out only what is looked at,
// so a long room costs nothing until it is scrolled through.
type transcript struct {
	width, height int
	style         palette
	me            string
	md            markdown

	blocks []block
	live   []block // replies as they stream; index len(blocks) and on
	unseen int     // messages that arrived below while scrolled up

	// top is the first row shown. While follow holds it is not used: the last
	// row sits at the bottom.
	follow bool
	top    position
}

// position is a row of a block.
type position struct{ block, row int }

func (t *transcript) restyle(p palette) {
	t.style = p
	t.md = markdown{style: p.markdown}
	t.forget()
}

// forget drops every layout.
func (t *transcript) forget() {
	for i := range t.blocks {
		t.blocks[i].rows = nil
	}
	for i := range t.live {
		t.live[i].rows = nil
	}
}

func (t *transcript) resize(width, height int) {
	if t.width != width {
		t.top.row = 0 // rows of another width mean nothing
	}
	t.width, t.height = width, height
	if !t.follow && t.atEnd() {
		t.follow = true
	}
}

// reset shows another room, or the same one from its end.
func (t *transcript) reset(lines []message) {
	t.blocks, t.live, t.unseen, t.follow = nil, nil, 0, true
	t.add(lines)
}

// add appends messages.
func (t *transcript) add(lines []message) {
	for _, m := range lines {
		t.blocks = append(t.blocks, block{message: m})
		t.join(len(t.blocks) - 1)
	}
	if !t.follow {
		t.unseen += len(lines)
		return
	}
	if extra := len(t.blocks) - history; len(t.blocks) > keep {
		t.blocks = slices.Delete(t.blocks, 0, extra)
		t.join(0)
	}
}

// note adds a line of the screen's own.
func (t *transcript) note(text string) {
	t.blocks = append(t.blocks, block{message: message{Text: text}, note: true})
}

// join decides how block i stands to the one before it: a header is repeated
// only when the speaker changes or two minutes have passed.
func (t *transcript) join(i int) {
	b := &t.blocks[i]
	b.rows = nil
	if b.note {
		return
	}
	if i == 0 {
		b.day, b.run = !b.At.IsZero(), false
		return
	}
	prev := t.blocks[i-1]
	b.day = !b.At.IsZero() && !prev.note && !sameDay(prev.At, b.At)
	b.run = !b.day && !prev.note && prev.Name == b.Name && prev.Agent == b.Agent &&
		b.At.Sub(prev.At) < 2*time.Minute
}

func sameDay(a, b time.Time) bool {
	ay, am, ad := a.Local().Date()
	by, bm, bd := b.Local().Date()
	return ay == by && am == bm && ad == bd
}

// count and at treat the live replies as the last blocks.
func (t *transcript) count() int { return len(t.blocks) + len(t.live) }

func (t *transcript) at(i int) []string {
	b := &t.live
	live := i >= len(t.blocks)
	if live {
		i -= len(t.blocks)
	} else {
		b = &t.blocks
	}
	blk := &(*b)[i]
	if blk.rows == nil || blk.width != t.width {
		blk.rows, blk.width = t.layout(*blk, live && len(blk.Text) > maxLiveMarkdown), t.width
	}
	return blk.rows
}

// layout turns a block into rows: a blank row, the day, the header, the text.
func (t *transcript) layout(b block, raw bool) []string {
	text, left := cut(b.Text)
	if b.note {
		var rows []string
		for _, row := range wrap(clean(text), t.width-2) {
			rows = append(rows, " "+t.style.dim.Render(row))
		}
		return append([]string{""}, rows...)
	}
	var rows []string
	if b.day {
		rows = append(rows, "", t.dayRow(b.At))
	}
	if !b.run {
		rows = append(rows, "", t.header(b))
	}
	pad := "   "
	if t.width < 40 {
		pad = " "
	}
	width := max(t.width-2*len(pad), 1)
	var body []string
	if b.Agent && b.run {
		rows = append(rows, "") // between paragraphs of markdown
	}
	if b.Agent && !raw {
		body = t.md.rows(text, width)
	} else {
		body = wrap(clean(text), width)
	}
	for _, row := range body {
		rows = append(rows, pad+row)
	}
	if left > 0 {
		rows = append(rows, pad+t.style.warn.Render(fit("… "+count(left)+" more bytes in the room's file", width)))
	}
	return rows
}

func (t *transcript) header(b block) string {
	style := t.style.user
	switch {
	case b.Agent:
		style = t.style.agent
	case b.Name == t.me:
		style = t.style.own
	}
	name := " " + style.Render(fit(oneLine(b.Name), max(t.width-9, 4)))
	if b.At.IsZero() {
		return fit(name, t.width)
	}
	return fit(name+" "+t.style.dim.Render(b.At.Local().Format("15:04")), t.width)
}

func (t *transcript) dayRow(at time.Time) string {
	day := at.Local().Format("Monday 2 January 2006")
	side := strings.Repeat("─", min(max((t.width-lipgloss.Width(day))/2-2, 0), 24))
	return lipgloss.PlaceHorizontal(t.width, lipgloss.Center, t.style.faint.Render(fit(side+" "+day+" "+side, t.width)))
}

// setLive replaces the replies that are being written.
func (t *transcript) setLive(replies []block) {
	t.live = replies
	if n := t.count(); !t.follow && t.top.block >= n {
		t.follow = true
	}
}

// bottom is the position of the first row when the last one is at the bottom.
func (t *transcript) bottom() position {
	left := t.height
	for i := t.count() - 1; i >= 0; i-- {
		n := len(t.at(i))
		if n >= left {
			return position{i, n - left}
		}
		left -= n
	}
	return position{}
}

// pin stops following, at what is shown now.
func (t *transcript) pin() {
	if t.follow {
		t.top, t.follow = t.bottom(), false
	}
}

func (t *transcript) atEnd() bool {
	b := t.bottom()
	return t.top.block > b.block || t.top.block == b.block && t.top.row >= b.row
}

// scroll moves by n rows, up when negative.
func (t *transcript) scroll(n int) {
	t.pin()
	for ; n < 0; n++ {
		switch {
		case t.top.row > 0:
			t.top.row = min(t.top.row, len(t.at(t.top.block))) - 1
		case t.top.block > 0:
			t.top.block--
			t.top.row = max(len(t.at(t.top.block))-1, 0)
		default:
			n = -1
		}
	}
	for ; n > 0 && !t.atEnd(); n-- {
		if t.top.row++; t.top.row >= len(t.at(t.top.block)) {
			t.top = position{t.top.block + 1, 0}
		}
	}
	if t.atEnd() {
		t.end()
	}
}

// end goes back to following.
func (t *transcript) end() { t.follow, t.unseen = true, 0 }

// view is exactly height rows.
func (t *transcript) view() []string {
	from := t.top
	if t.follow {
		from = t.bottom()
	}
	rows := make([]string, 0, t.height)
	for i := from.block; i < t.count() && len(rows) < t.height; i++ {
		b := t.at(i)
		if i == from.block {
			b = b[min(from.row, len(b)):]
		}
		rows = append(rows, b[:min(len(b), t.height-len(rows))]...)
	}
	// A room that does not fill the screen sits at its bottom, next to the input.
	if missing := t.height - len(rows); missing > 0 && t.follow {
		rows = append(make([]string, missing, t.height), rows...)
	}
	for len(rows) < t.height {
		rows = append(rows, "")
	}
	return rows
}
