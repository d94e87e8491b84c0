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
func fileOf(msg *message) *file {
	var photo *attachment
	if n := len(msg.Photo); n > 0 {
		photo = &msg.Photo[n-1]
	}
	for _, kind := range []struct {
		name, mime string
		has        *attachment
	}{
		{"photo", "image/jpeg", photo}, {"voice", "audio/ogg", msg.Voice}, {"audio", "", msg.Audio},
		{"video", "video/mp4", msg.Video}, {"video message", "video/mp4", msg.VideoNote},
		{"animation", "", msg.Animation}, // comes with the same file as a document
		{"document", "", msg.Document}, {"sticker", "image/webp", msg.Sticker},
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
func besidesOf(msg *message) string {
	switch {
	case msg.Venue != nil:
		title, address := bridge.Inert(msg.Venue.Title), bridge.Inert(msg.Venue.Address)
		return fmt.Sprintf("[venue %s, %s, at %s]", title, address, degrees(msg.Venue.Location))
	case msg.Location != nil:
		return fmt.Sprintf("[location %s]", degrees(*msg.Location))
	case msg.Contact != nil:
		name := strings.TrimSpace(msg.Contact.FirstName + " " + msg.Contact.LastName)
		return fmt.Sprintf("[contact %s %s]", bridge.Inert(name), bridge.Inert(msg.Contact.PhoneNumber))
	case msg.Poll != nil, msg.Dice != nil, msg.Checklist != nil,
		msg.Game != nil, msg.Story != nil, msg.PaidMedia != nil:
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
	for _, mark := range marks {
		if mark.Type != models.MessageEntityTypeTextLink || mark.URL == "" {
			continue
		}
		fits := mark.Length > 0 && mark.Length <= len(units)-mark.Offset
		if !fits || mark.Offset < from {
			continue
		}
		end := mark.Offset + mark.Length
		shown := string(utf16.Decode(units[mark.Offset:end]))
		if strings.Contains(mark.URL, shown) && strings.Contains(shown, ".") {
			continue
		}
		out.WriteString(string(utf16.Decode(units[from:end])))
		out.WriteString(" (" + strings.ReplaceAll(strings.Join(strings.Fields(mark.URL), ""), "hash=", "hash%3D") + ")")
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
func (s *session) fetch(ctx, late context.Context, sent *file, line *bridge.Message) (string, error) {
	data, err := s.tryFetch(late, sent)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		s.log.Warn("a file could not be fetched; its line says so", "kind", sent.Kind, "bytes", sent.Size, "error", err)
		return fmt.Sprintf("[%s %s: could not be fetched, %s]", sent.Label(), blobs.Size(sent.Size), whyNot(err)), nil
	}
	// All of it is the message's own, so that a message that comes again makes the same blob.
	_, tag, err := sent.Put(s.cfg.Store, line.At, line.User, data)
	return tag, err
}

// tryFetch downloads a file, with up to three attempts.
func (s *session) tryFetch(late context.Context, sent *file) (data []byte, err error) {
	if sent.Size > s.cfg.tune.maxFile {
		return nil, errTooLarge
	}
	ctx, cancel := context.WithTimeout(late, s.cfg.tune.file)
	defer cancel()
	for range 3 {
		if data, err = s.fetchOnce(ctx, sent); err == nil || errors.Is(err, errTooLarge) {
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
