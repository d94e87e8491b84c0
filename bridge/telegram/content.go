package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"

	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/access"
)

// file is something in a message that has to be fetched.
type file struct {
	bridge.File
	ID   string
	Size int64
}

// fileOf returns the file of a message, or nil. Of the sizes of a photo it is the largest, which stands last.
func fileOf(m *message) *file {
	var photo *attachment
	if n := len(m.Photo); n > 0 {
		photo = &m.Photo[n-1]
	}
	for _, kind := range []struct {
		name, mime string
		has        *attachment
	}{
		{"photo", "image/jpeg", photo}, {"voice", "audio/ogg", m.Voice}, {"audio", "", m.Audio},
		{"video", "video/mp4", m.Video}, {"video message", "video/mp4", m.VideoNote},
		{"animation", "", m.Animation}, // comes with the same file as a document
		{"document", "", m.Document}, {"sticker", "image/webp", m.Sticker},
	} {
		if a := kind.has; a != nil {
			shown := bridge.File{Kind: kind.name, Emoji: a.Emoji, Duration: a.Duration}
			shown.Name = cmp.Or(a.FileName, strings.Trim(a.Performer+" - "+a.Title, " -"))
			shown.Mime = cmp.Or(a.MimeType, kind.mime)
			return &file{shown, a.FileID, a.FileSize}
		}
	}
	return nil
}

// besidesOf returns the text of content that is neither words nor a file, or "".
func besidesOf(m *message) string {
	switch {
	case m.Venue != nil:
		title, address := bridge.Inert(m.Venue.Title), bridge.Inert(m.Venue.Address)
		return fmt.Sprintf("[venue %s, %s, at %s]", title, address, degrees(m.Venue.Location))
	case m.Location != nil:
		return fmt.Sprintf("[location %s]", degrees(*m.Location))
	case m.Contact != nil:
		name := strings.TrimSpace(m.Contact.FirstName + " " + m.Contact.LastName)
		return fmt.Sprintf("[contact %s %s]", bridge.Inert(name), bridge.Inert(m.Contact.PhoneNumber))
	case m.Poll != nil, m.Dice != nil, m.Checklist != nil, m.Game != nil, m.Story != nil, m.PaidMedia != nil:
		return "[something that is not passed on: a poll, a story, a game, a checklist, paid media or the like]"
	}
	return ""
}

func degrees(at models.Location) string { return fmt.Sprintf("%.6f, %.6f", at.Latitude, at.Longitude) }

// wordsOf returns a message's text or caption. The address of a link that hides behind a word follows the word. Nobody
// sees it in Telegram, so it gives no right to a blob that it names.
func wordsOf(m *message) string {
	text, marks := m.Text, m.Entities
	if text == "" {
		text, marks = m.Caption, m.CaptionEntities
	}
	units := utf16.Encode([]rune(text))
	var out strings.Builder
	from := 0
	for _, e := range marks {
		if e.Type != models.MessageEntityTypeTextLink || e.URL == "" {
			continue
		}
		fits := e.Length > 0 && e.Length <= len(units)-e.Offset
		if !fits || e.Offset < from {
			continue
		}
		end := e.Offset + e.Length
		shown := string(utf16.Decode(units[e.Offset:end]))
		if strings.Contains(e.URL, shown) && strings.Contains(shown, ".") {
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

// foreign reports that the words of a message are not its sender's own: they are forwarded, or another bot wrote them.
func foreign(m *message) bool { return m.ForwardOrigin != nil || m.ViaBot != nil }

// quote returns a line that quotes the message a person replies to, without its newline, or "" where it is no reply.
// Every message in a topic comes as a reply to the topic's creation, which says nothing.
func (s *session) quote(m *message, rules access.Rules) string {
	if m.Quote != nil && strings.TrimSpace(m.Quote.Text) != "" {
		return "> " + bridge.Clip(bridge.Inert(m.Quote.Text), bridge.MaxQuote)
	}
	quoted := m.ReplyToMessage
	if quoted == nil {
		return ""
	}
	said := bridge.Inert(wordsOf(quoted))
	if f := fileOf(quoted); f != nil {
		said = strings.TrimSpace("[" + f.Label() + "] " + said)
	}
	if said = bridge.Clip(cmp.Or(said, besidesOf(quoted)), bridge.MaxQuote); said == "" {
		return ""
	}
	if who := authorOf(quoted); who.ID != userAuthor(*s.me.Load()).ID {
		said = who.name(rules) + ": " + said
	}
	return "> " + bridge.Clip(said, bridge.MaxQuote)
}

// forwardedFrom names the sender of a forwarded message. A sender who hides has only a name, which anybody could have
// taken.
func forwardedFrom(sender *origin, rules access.Rules) string {
	if sender.SenderUser != nil {
		return userAuthor(*sender.SenderUser).name(rules)
	}
	if chat := cmp.Or(sender.SenderChat, sender.Chat); chat != nil {
		return chatAuthor(*chat).name(rules)
	}
	return "somebody"
}

// name is the name that signs an author's lines, made fit to be quoted.
func (a author) name(rules access.Rules) string { return bridge.Inert(rules.NameFor(a.ID, a.Claimed)) }

// fetch stores a file that came with a message, and returns the tag of its line, which says so if
// the file cannot be fetched. late ends when the files of the batch have taken too long. An error is
// one of the disk, or the end of ctx.
func (s *session) fetch(ctx, late context.Context, f *file, m *bridge.Message) (string, error) {
	data, err := s.tryFetch(late, f)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		s.log.Warn("a file could not be fetched; its line says so", "kind", f.Kind, "bytes", f.Size, "error", err)
		return fmt.Sprintf("[%s %s: could not be fetched, %s]", f.Label(), blobs.Size(f.Size), whyNot(err)), nil
	}
	// All of it is the message's own, so that a message that comes again makes the same blob.
	_, tag, err := f.Put(s.cfg.Store, m.At, m.User, data)
	return tag, err
}

// tryFetch downloads a file, with up to three attempts.
func (s *session) tryFetch(late context.Context, f *file) (data []byte, err error) {
	if f.Size > s.cfg.tune.maxFile {
		return nil, errTooLarge
	}
	ctx, cancel := context.WithTimeout(late, s.cfg.tune.file)
	defer cancel()
	for range 3 {
		if data, err = s.fetchOnce(ctx, f); err == nil || errors.Is(err, errTooLarge) {
			break
		}
		pause, refusal := s.cfg.tune.backoff, new(apiError)
		if errors.As(err, &refusal) {
			pause = max(pause, refusal.RetryAfter)
		}
		if !sleep(ctx, pause) {
			break
		}
	}
	return data, err
}

func (s *session) fetchOnce(ctx context.Context, f *file) ([]byte, error) {
	var at models.File // what the server says of it
	if err := s.api.call(ctx, "getFile", map[string]string{"file_id": f.ID}, &at); err != nil {
		if refusal := new(apiError); errors.As(err, &refusal) && strings.Contains(refusal.Description, "too big") {
			err = errTooLarge
		}
		return nil, err
	}
	data, err := s.api.download(ctx, at.FilePath, s.cfg.tune.maxFile)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	if at.FileSize > 0 && int64(len(data)) != at.FileSize {
		return nil, fmt.Errorf("download: %d bytes came of %d", len(data), at.FileSize)
	}
	return data, nil
}

// whyNot says in a line why its file is not there, in words of our own.
func whyNot(err error) string {
	switch code := answered(err); {
	case errors.Is(err, errTooLarge):
		return err.Error()
	case code != 0:
		return fmt.Sprintf("the server answered %d", code)
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	}
	return "the connection failed"
}
