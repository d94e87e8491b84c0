// Package markup turns Markdown as language models write it into Telegram messages: HTML with
// the tags that every Telegram client shows, in parts that Telegram accepts.
//
//	for _, m := range markup.Render(reply, markup.Limit) {
//		send(m.HTML)   // or m.Text, if HTML is empty or is refused
//	}
//
// The package is pure: it reads and writes nothing, keeps no state, and its functions may be
// called from any goroutine. What it guarantees, for any input:
//
//   - Each message has at most limit units and at most [MaxEntities] entities once its tags are
//     parsed, and is not blank. Tags are closed in the message that opens them, and only this
//     package writes them: all text is escaped.
//   - Nothing that was written vanishes but the marks themselves: every letter and digit is in
//     the text, in order, or in the target of a link. White space is lost where text is cut.
//   - The cost is linear in the input. Markup in absurd amounts or nested too deep is left
//     standing as text.
//
// Messages are cut between blocks, and never behind a heading. A block that is too large for a
// message is cut at a line, else a sentence, a space, or anywhere but inside a character; what
// it was, it is on both sides.
package markup

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// Limit is the longest text of a message, in UTF-16 code units after its tags are parsed.
const Limit = 4096

// MaxEntities is how many entities a message may have. Telegram drops further ones in silence,
// and with a link its target.
const MaxEntities = 100

// Message is one Telegram message.
type Message struct {
	Text string `json:"text"`           // without markup, and with the targets of links in parentheses
	HTML string `json:"html,omitempty"` // for parse_mode HTML; "" if there is nothing to mark
}

// Render turns a reply in Markdown into messages of at most limit units each (2 to [Limit]), in
// order. A reply without a visible character gives none.
func Render(markdown string, limit int) (messages []Message) {
	defer func() {
		// The parser is not ours. A reply on which it fails is sent as text, not never.
		if recover() != nil {
			messages = Plain(markdown, limit)
		}
	}()
	return render(clean(markdown)).split(limit)
}

// Plain splits text by the same rules and takes it as it stands: no mark is read.
func Plain(text string, limit int) []Message {
	var d doc
	d.put(clean(text), look{})
	return d.split(limit)
}

// Units returns the length of s in UTF-16 code units, Telegram's measure of all lengths.
func Units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// clean returns s as UTF-8 with \n as the only line end. Telegram refuses anything else, or
// takes it out.
func clean(s string) string {
	return lineEnds.Replace(strings.ToValidUTF8(s, "\uFFFD"))
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u2028", "\n", "\u2029", "\n",
	"\x00", "\uFFFD", "\uFEFF", "")

// blank says whether Telegram would take a message of this text for empty, and refuse it.
func blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Mn) && r != '\u2800' && r != '\uFFFC'
	})
}
