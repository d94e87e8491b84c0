// Package markup turns Markdown as language models write it into Telegram messages: text with
// entities, cut into parts that Telegram accepts.
//
//	for _, m := range markup.Render(reply, markup.Limit) {
//		send(m.Text, m.Entities)   // and markup.Plain(reply, markup.Limit) if that is refused
//	}
//
// The package is pure: it reads and writes nothing, keeps no state, and its functions may be
// called from any goroutine. What it guarantees, for any input:
//
//   - Each message has at most limit units and at most [MaxEntities] entities, passes [Check],
//     and is not blank. Neither text nor entities begin or end with white space, so that nothing
//     that Telegram trims shifts an offset.
//   - Nothing that was written vanishes but the marks themselves: every letter and digit is in
//     the text, in order, or in the URL of a link; of the info string of a code block the first
//     word, as its language. Only white space is lost where text is cut.
//   - The cost is linear in the input. Markup in absurd amounts or nested too deep is left
//     standing as text.
//
// How Markdown looks:
//
//   - **bold**, *italic*, ~~struck~~, `code`, links and images become entities, headings bold lines.
//   - A link that Telegram would refuse (localhost, a relative path, mailto:) is `text (target)`.
//   - Lists keep their numbers; - and * become •, task boxes ☐ and ☑. A quotation inside a
//     quotation keeps its >.
//   - Code blocks and tables become pre; tabs in them become spaces.
//   - A single newline stays one, blank lines become one. HTML, what only resembles Markdown
//     (2*3*4, __init__, #tag) and indented lines stay as they are.
//
// Where a reply is cut: at the last paragraph, else line, that leaves the part at least half
// full and not ending in a title; else so for a quarter; else behind a sentence, at a space, or
// anywhere but inside a character. A code block that fits into a message of its own is not cut
// if the part before it is at least a quarter full; one that has to be cut continues as a code
// block of the same language. More than [MaxEntities] entities cut a message too, for else the
// links among them would be lost.
package markup

import "github.com/go-telegram/bot/models"

// Limit is the longest text of a message, in UTF-16 code units after its markup is taken out.
const Limit = 4096

// MaxEntities is how many entities a message may have. Telegram drops further ones in silence.
const MaxEntities = 100

// Message is one Telegram message: text, and entities with offsets and lengths in UTF-16 code
// units, sorted by offset, then longest first.
type Message struct {
	Text     string
	Entities []models.MessageEntity
}

// Render turns a reply in Markdown into messages of at most limit units each (out of 2 to
// [Limit]; otherwise Limit), in order, none blank. A reply without a visible character gives
// none.
func Render(markdown string, limit int) (messages []Message) {
	defer func() {
		// The parser is not ours. A reply on which it fails is sent as text, not never.
		if recover() != nil {
			messages = Plain(markdown, limit)
		}
	}()
	return split(render(clean(markdown)), limit)
}

// Plain splits text by the same rules and with the same limit, and takes it as it stands: no
// mark is read, none removed. It is what to send when Telegram refuses the markup.
func Plain(text string, limit int) []Message {
	return split(doc{text: expand(clean(text))}, limit)
}
