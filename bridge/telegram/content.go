package telegram

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf16"

	"lethe/bridge"
	"lethe/bridge/access"
)

// file is something in a message that has to be fetched.
type file struct {
	Kind string
	attachment
}

// named is the file as its line names it.
func (f file) named() bridge.File {
	return bridge.File{Kind: f.Kind, Emoji: f.Emoji, Name: f.Name, Mime: f.Mime, Duration: f.Duration}
}

// file finds the file of a message; of the sizes of a photo the largest, which stands last.
func (m *message) file() (file, bool) {
	if n := len(m.Photo); n > 0 {
		best := m.Photo[n-1]
		best.Mime = "image/jpeg"
		return file{"photo", best}, true
	}
	for _, k := range []struct {
		kind, mime string
		has        *attachment
	}{
		{"voice", "audio/ogg", m.Voice}, {"audio", "", m.Audio}, {"video", "video/mp4", m.Video}, {"video message", "video/mp4", m.VideoNote},
		{"animation", "", m.Animation}, // comes with the same file as a document
		{"document", "", m.Document}, {"sticker", "image/webp", m.Sticker},
	} {
		if k.has != nil {
			f := file{k.kind, *k.has}
			f.Mime = cmp.Or(f.Mime, k.mime)
			f.Name = cmp.Or(f.Name, strings.Trim(f.Performer+" - "+f.Title, " -"))
			return f, true
		}
	}
	return file{}, false
}

// other is the text of content that is neither words nor a file; empty when there is none.
func (m *message) other() string {
	switch {
	case m.Venue != nil:
		return fmt.Sprintf("[venue %s, %s, at %s]", bridge.Inert(m.Venue.Title), bridge.Inert(m.Venue.Address), m.Venue.Location)
	case m.Location != nil:
		return fmt.Sprintf("[location %s]", m.Location)
	case m.Contact != nil:
		return fmt.Sprintf("[contact %s %s]", bridge.Inert(strings.TrimSpace(m.Contact.FirstName+" "+m.Contact.LastName)), bridge.Inert(m.Contact.PhoneNumber))
	case m.Poll != nil:
		var options []string
		for _, o := range m.Poll.Options {
			options = append(options, bridge.Inert(o.Text))
		}
		return fmt.Sprintf("[poll %s: %s]", bridge.Inert(m.Poll.Question), strings.Join(options, " / "))
	case m.Dice != nil, m.Checklist != nil, m.Game != nil, m.Story != nil, m.PaidMedia != nil, m.Invoice != nil, m.Giveaway != nil:
		return "[something that is not passed on: a story, a game, a checklist, paid media or the like]"
	}
	return ""
}

func (l location) String() string { return fmt.Sprintf("%.6f, %.6f", l.Latitude, l.Longitude) }

// words is a message's text or caption. The address of a link that hides behind a word follows
// the word. Nobody sees it in Telegram, so it gives no right to a blob that it names.
func (m *message) words() string {
	text, marks := m.Text, m.Entities
	if text == "" {
		text, marks = m.Caption, m.CaptionEntities
	}
	units := utf16.Encode([]rune(text))
	var out strings.Builder
	from := 0
	for _, e := range marks {
		if e.Type != "text_link" || e.URL == "" || e.Length <= 0 || e.Offset < from || e.Length > len(units)-e.Offset {
			continue
		}
		end := e.Offset + e.Length
		if shown := string(utf16.Decode(units[e.Offset:end])); strings.Contains(e.URL, shown) && strings.Contains(shown, ".") {
			continue
		}
		out.WriteString(string(utf16.Decode(units[from:end])))
		out.WriteString(" (" + strings.ReplaceAll(strings.Join(strings.Fields(e.URL), ""), "hash=", "hash%3D") + ")")
		from = end
	}
	if from == 0 {
		return text
	}
	return out.String() + string(utf16.Decode(units[from:]))
}

// foreign says that the words of a message are not its sender's own: they come from elsewhere,
// or another bot wrote them.
func (m *message) foreign() bool { return m.Forward != nil || m.ViaBot != nil }

// quote is the line that says which message a person replies to, without its newline; empty
// when it is no reply. Every message in a topic comes as a reply to the topic's creation, which
// says nothing.
func (s *session) quote(m *message, rules access.Rules) string {
	if m.Quote != nil && strings.TrimSpace(m.Quote.Text) != "" {
		return "> " + bridge.Clip(bridge.Inert(m.Quote.Text), bridge.MaxQuote)
	}
	r := m.ReplyTo
	if r == nil {
		return ""
	}
	said := bridge.Inert(r.words())
	if f, ok := r.file(); ok {
		said = strings.TrimSpace("[" + f.named().Label() + "] " + said)
	}
	if said = bridge.Clip(cmp.Or(said, r.other()), bridge.MaxQuote); said == "" {
		return ""
	}
	if who := r.author(); who.ID != s.me.Load().author().ID {
		said = bridge.Inert(rules.NameFor(who.ID, who.Claimed)) + ": " + said
	}
	return "> " + bridge.Clip(said, bridge.MaxQuote)
}

// name is that of the sender of a forwarded message. A sender who hides has only a name, which
// could be anybody's.
func (o origin) name(rules access.Rules) string {
	var who author
	switch {
	case o.User != nil:
		who = o.User.author()
	case o.Chat != nil:
		who = o.Chat.author()
	case o.Post != nil:
		who = o.Post.author()
	default:
		return "somebody"
	}
	return bridge.Inert(rules.NameFor(who.ID, who.Claimed))
}
