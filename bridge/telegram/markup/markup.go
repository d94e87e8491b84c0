// Package markup turns Markdown into Telegram messages: HTML with the tags that every Telegram
// client shows, in parts that Telegram accepts.
//
//	for _, m := range markup.Render(reply, markup.Limit) {
//		send(m.HTML)   // or m.Text, if HTML is empty or is refused
//	}
//
// For any input, each message has at most limit units and [MaxEntities] entities and is not
// blank; its tags are closed, and all text is escaped. The words of the input are in the text or
// in the target of a link, in order. Messages are cut between blocks and never behind a heading;
// a block that is too large is cut at a line, else at a space, else anywhere, and keeps its look
// on both sides.
//
// render.go walks goldmark's tree and writes a doc, split.go cuts that into messages. The
// package is pure.
package markup

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// Limit is the longest text of a message, in UTF-16 code units after its tags are parsed.
const Limit = 4096

// MaxEntities is how many entities a message may have. Telegram drops further ones silently, and
// with a link its target.
const MaxEntities = 100

// Message is one Telegram message.
type Message struct {
	Text string // without markup, and with the targets of links in parentheses
	HTML string // for parse_mode HTML; "" if there is nothing to mark
}

// Render turns a reply in Markdown into messages of at most limit units each (2 to [Limit]). A
// reply without a visible character gives none.
func Render(markdown string, limit int) []Message { return read(clean(markdown)).split(limit) }

// Plain is Render of a text without marks, which is shown to the letter.
func Plain(text string, limit int) []Message {
	d := &doc{}
	d.put(clean(text), look{})
	return d.split(limit)
}

// read returns source as a doc: as plain text where reading its marks takes too long or fails.
func read(source string) (d *doc) {
	plain := &doc{}
	plain.put(source, look{})
	defer func() {
		if recover() != nil { // a defect of the parser must not hold up a reply
			d = plain
		}
	}()
	if tooManyMarks(source) {
		return plain
	}
	return render(source)
}

// Units returns the length of s in UTF-16 code units, Telegram's measure of all lengths.
func Units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// clean returns s as UTF-8 with \n as the only line end. Telegram refuses or removes anything
// else.
func clean(s string) string {
	return lineEnds.Replace(strings.ToValidUTF8(s, "\uFFFD"))
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u2028", "\n", "\u2029", "\n",
	"\x00", "\uFFFD", "\uFEFF", "")

// blank says whether Telegram would refuse a message of this text as empty.
func blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Mn) && r != '\u2800' && r != '\uFFFC'
	})
}
