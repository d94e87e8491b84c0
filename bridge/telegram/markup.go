package telegram

import (
	"strings"
	"unicode"
	"unicode/utf16"

	"lethe/internal/markdown"
)

// Render turns Markdown into Telegram messages: HTML with the tags that every Telegram client
// shows, in parts that Telegram accepts.
//
//	for _, m := range Render(reply, MaxUnits) {
//		send(m.HTML)   // or m.Text, if HTML is empty or is refused
//	}
//
// For any input, each message has at most limit units and [MaxEntities] entities and is not
// blank; its tags are closed, and all text is escaped. The words of the input are in the text or
// in the target of a link, in order. Messages are cut between blocks and never behind a heading;
// a block that is too large is cut at a line, else at a space, else anywhere, and keeps its look
// on both sides.
//
// render.go writes the blocks of package markdown as a doc, split.go cuts that into messages. All
// of it is pure.

// MaxUnits is the longest text of a message, in UTF-16 code units after its tags are parsed.
const MaxUnits = 4096

// MaxEntities bounds the entities of a message. Telegram drops further ones silently, and
// with a link its target.
const MaxEntities = 100

// Message is one Telegram message.
type Message struct {
	Text string // without markup, and with the targets of links in parentheses
	HTML string // for parse_mode HTML; "" if there is nothing to mark
}

// Render turns a reply in Markdown into messages of at most limit units each (2 to [MaxUnits]). A
// reply without a visible character makes no message.
func Render(reply string, limit int) []Message {
	r := &renderer{}
	r.blocks(markdown.Parse(reply), true)
	return r.split(limit)
}

// Plain is Render of a text without marks, which is shown to the letter.
func Plain(text string, limit int) []Message {
	d := &doc{}
	d.put(markdown.Clean(text), look{})
	return d.split(limit)
}

// Units returns the length of s in UTF-16 code units, Telegram's measure of all lengths.
func Units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// blank reports whether Telegram would refuse a message of this text as empty.
func blank(s string) bool {
	invisible := []*unicode.RangeTable{unicode.White_Space, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Mn}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.In(r, invisible...) && !strings.ContainsRune("\u2800\uFFFC", r)
	})
}
