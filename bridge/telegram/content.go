package telegram

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"

	"lethe/blobs"
	"lethe/bridge/access"
)

// Bounds of what a line says beside the person's own words, in runes.
const (
	maxQuote = 80
	maxTitle = 80
)

// file is something in a message that has to be fetched.
type file struct {
	Kind, Name, Mime, ID string
	Size                 int64 // bytes as Telegram says; 0: not said
	Seconds              int
	Emoji                string
}

// label is the beginning of what a line says of a file.
func (f file) label() string {
	words := []string{f.Kind}
	for _, w := range []string{inert(f.Emoji), inert(f.Name), inert(f.Mime)} {
		if w != "" {
			words = append(words, w)
		}
	}
	if f.Seconds > 0 {
		words = append(words, fmt.Sprintf("%d s", f.Seconds))
	}
	return strings.Join(words, " ")
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%d KB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// fileIn finds the file of a message; most is the largest that can be fetched, which
// decides between the sizes of a photo.
func fileIn(m *models.Message, most int64) (file, bool) {
	switch {
	case len(m.Photo) > 0:
		best := m.Photo[0]
		for _, p := range m.Photo[1:] {
			if int64(p.FileSize) <= most && (p.Width*p.Height > best.Width*best.Height || int64(best.FileSize) > most) {
				best = p
			}
		}
		return file{Kind: "photo", Mime: "image/jpeg", ID: best.FileID, Size: int64(best.FileSize)}, true
	case m.Voice != nil:
		v := m.Voice
		return file{Kind: "voice", Mime: cmp.Or(v.MimeType, "audio/ogg"), ID: v.FileID, Size: v.FileSize, Seconds: v.Duration}, true
	case m.Audio != nil:
		a := m.Audio
		name := cmp.Or(a.FileName, strings.Trim(a.Performer+" - "+a.Title, " -"))
		return file{Kind: "audio", Name: name, Mime: a.MimeType, ID: a.FileID, Size: a.FileSize, Seconds: a.Duration}, true
	case m.Video != nil:
		v := m.Video
		return file{Kind: "video", Name: v.FileName, Mime: cmp.Or(v.MimeType, "video/mp4"), ID: v.FileID, Size: v.FileSize, Seconds: v.Duration}, true
	case m.VideoNote != nil:
		v := m.VideoNote
		return file{Kind: "video message", Mime: "video/mp4", ID: v.FileID, Size: int64(v.FileSize), Seconds: v.Duration}, true
	case m.Animation != nil: // comes with the same file as a document
		a := m.Animation
		return file{Kind: "animation", Name: a.FileName, Mime: a.MimeType, ID: a.FileID, Size: a.FileSize, Seconds: a.Duration}, true
	case m.Document != nil:
		d := m.Document
		return file{Kind: "document", Name: d.FileName, Mime: d.MimeType, ID: d.FileID, Size: d.FileSize}, true
	case m.Sticker != nil:
		s := m.Sticker
		mime := "image/webp"
		if s.IsAnimated {
			mime = "application/x-tgsticker"
		} else if s.IsVideo {
			mime = "video/webm"
		}
		return file{Kind: "sticker", Emoji: s.Emoji, Mime: mime, ID: s.FileID, Size: int64(s.FileSize)}, true
	}
	return file{}, false
}

// other is the text of content that is neither words nor a file; empty when there
// is none.
func other(m *models.Message) string {
	at := func(l models.Location) string { return fmt.Sprintf("%.6f, %.6f", l.Latitude, l.Longitude) }
	switch {
	case m.Venue != nil:
		return fmt.Sprintf("[venue %s, %s, at %s]", inert(m.Venue.Title), inert(m.Venue.Address), at(m.Venue.Location))
	case m.Location != nil:
		if m.Location.LivePeriod > 0 {
			return "[location " + at(*m.Location) + ", live: where it moves to is not passed on]"
		}
		return "[location " + at(*m.Location) + "]"
	case m.Contact != nil:
		return fmt.Sprintf("[contact %s %s]", inert(strings.TrimSpace(m.Contact.FirstName+" "+m.Contact.LastName)), inert(m.Contact.PhoneNumber))
	case m.Poll != nil:
		var options []string
		for _, o := range m.Poll.Options {
			options = append(options, inert(o.Text))
		}
		return fmt.Sprintf("[poll %s: %s]", inert(m.Poll.Question), strings.Join(options, " / "))
	case m.Dice != nil:
		return fmt.Sprintf("[dice %s %d]", m.Dice.Emoji, m.Dice.Value)
	case m.Checklist != nil:
		var tasks []string
		for _, t := range m.Checklist.Tasks {
			tasks = append(tasks, inert(t.Text))
		}
		return fmt.Sprintf("[checklist %s: %s]", inert(m.Checklist.Title), strings.Join(tasks, " / "))
	case m.Game != nil:
		return fmt.Sprintf("[game %s]", inert(m.Game.Title))
	case m.Story != nil:
		return "[story: a bot cannot open it]"
	case m.PaidMedia != nil:
		return "[paid media: a bot cannot open it]"
	case m.Invoice != nil:
		return fmt.Sprintf("[invoice %s]", inert(m.Invoice.Title))
	case m.Giveaway != nil:
		return "[giveaway]"
	}
	return ""
}

// words is a message's text or caption. The address of a link that hides behind a
// word follows the word, since the room has no links. Nobody sees it in Telegram, so
// it gives no right to a blob that it names.
func words(m *models.Message) string {
	text, marks := m.Text, m.Entities
	if text == "" {
		text, marks = m.Caption, m.CaptionEntities
	}
	if len(marks) == 0 {
		return text
	}
	units := utf16.Encode([]rune(text))
	var out strings.Builder
	from := 0
	for _, e := range marks {
		end := e.Offset + e.Length
		if e.Type != models.MessageEntityTypeTextLink || e.URL == "" || e.Length <= 0 || e.Offset < from || end > len(units) {
			continue
		}
		if shown := string(utf16.Decode(units[e.Offset:end])); strings.Contains(e.URL, shown) && strings.Contains(shown, ".") {
			continue
		}
		out.WriteString(string(utf16.Decode(units[from:end])))
		out.WriteString(" (" + strings.ReplaceAll(strings.Join(strings.Fields(e.URL), ""), "hash=", "hash%3D") + ")")
		from = end
	}
	out.WriteString(string(utf16.Decode(units[from:])))
	return out.String()
}

// quote is the line that says which message a person replies to, without its
// newline; empty when it is no reply. Every message in a topic comes as a reply to
// the topic's creation, which says nothing.
func (s *session) quote(m *models.Message, at spot, rules access.Rules) string {
	if m.Quote != nil && strings.TrimSpace(m.Quote.Text) != "" {
		return "> " + clip(inert(m.Quote.Text), maxQuote)
	}
	r := m.ReplyToMessage
	if r == nil {
		return ""
	}
	said := clip(gist(r), maxQuote)
	if said == "" {
		return ""
	}
	who := authorOf(r)
	if who.ID == s.user().ID || who.Claimed == "" {
		return "> " + said
	}
	name := rules.NameFor(who.id(), who.Claimed)
	if !rules.Decide(who.id(), at.policy, at.private()).Allowed || who.Bot && !rules.User(who.id()) {
		name = access.NameWithID(name, who.id()) // not heard, so no name is this one's
	}
	return clip("> "+inert(name)+": "+said, maxQuote+2)
}

// gist is one line of what a message holds.
func gist(m *models.Message) string {
	text := inert(words(m))
	if f, ok := fileIn(m, 0); ok {
		text = strings.TrimSpace("[" + f.label() + "] " + text)
	}
	return cmp.Or(text, other(m))
}

// forwarded names the person or chat that a message was forwarded from; empty when it was
// not. A hidden sender has no id, so the name may be anybody's.
func (s *session) forwarded(m *models.Message, rules access.Rules) string {
	o := m.ForwardOrigin
	if o == nil {
		return ""
	}
	name := "somebody"
	switch {
	case o.MessageOriginUser != nil:
		u := &o.MessageOriginUser.SenderUser
		name = rules.NameFor(strconv.FormatInt(u.ID, 10), fullName(u))
	case o.MessageOriginHiddenUser != nil:
		name = "somebody named " + o.MessageOriginHiddenUser.SenderUserName
	case o.MessageOriginChat != nil:
		name = "chat " + o.MessageOriginChat.SenderChat.Title
	case o.MessageOriginChannel != nil:
		name = "channel " + o.MessageOriginChannel.Chat.Title
	}
	return "(forwarded from " + clip(inert(name), maxTitle) + ")"
}

// inert makes text that somebody else chose, a title or what a message quotes,
// safe to stand inside a person's line: one line, without brackets that could be
// taken for ours, and without the mention of a blob, which in a person's own line
// gives agents the right to open it. The mention is looked for last: what Gist drops
// may be what hid it.
func inert(s string) string {
	return clip(harmless.Replace(blobs.Gist(s)), maxTitle)
}

var harmless = strings.NewReplacer("[", "(", "]", ")", "hash=", "hash ")

// author is who a message is from: a user, or a chat in whose name it was written.
type author struct {
	ID      int64
	Claimed string // the name as it is shown in Telegram; not unique
	Bot     bool
}

func (a author) id() string { return strconv.FormatInt(a.ID, 10) }

func authorOf(m *models.Message) author {
	switch {
	case m.SenderChat != nil: // an anonymous administrator, a channel; From is a stand-in
		return author{ID: m.SenderChat.ID, Claimed: cmp.Or(m.SenderChat.Title, m.SenderChat.Username)}
	case m.From != nil:
		return author{ID: m.From.ID, Claimed: fullName(m.From), Bot: m.From.IsBot}
	}
	return author{ID: m.Chat.ID, Claimed: m.Chat.Title}
}

func fullName(u *models.User) string {
	name := strings.TrimSpace(u.FirstName + " " + u.LastName)
	return cmp.Or(name, u.Username, "user "+strconv.FormatInt(u.ID, 10))
}

// service says that a message is only Telegram telling what happened in the chat.
func service(m *models.Message) bool {
	return len(m.NewChatMembers) > 0 || m.LeftChatMember != nil || m.NewChatTitle != "" || len(m.NewChatPhoto) > 0 ||
		m.DeleteChatPhoto || m.GroupChatCreated || m.SupergroupChatCreated || m.ChannelChatCreated ||
		m.MessageAutoDeleteTimerChanged != nil || m.MigrateToChatID != 0 || m.MigrateFromChatID != 0 || m.PinnedMessage != nil ||
		m.SuccessfulPayment != nil || m.RefundedPayment != nil || m.UsersShared != nil || m.ChatShared != nil ||
		m.ConnectedWebsite != "" || m.WriteAccessAllowed != nil || m.PassportData != nil || m.ProximityAlertTriggered != nil ||
		m.BoostAdded != nil || m.ChatBackgroundSet != nil || m.ForumTopicCreated != nil || m.ForumTopicEdited != nil ||
		m.ForumTopicClosed != nil || m.ForumTopicReopened != nil || m.GeneralForumTopicHidden != nil ||
		m.GeneralForumTopicUnhidden != nil || m.GiveawayCreated != nil || m.GiveawayCompleted != nil || m.GiveawayWinners != nil ||
		m.VoiceChatScheduled != nil || m.VoiceChatStarted != nil || m.VoiceChatEnded != nil || m.VoiceChatParticipantsInvited != nil ||
		m.WebAppData != nil || m.ChecklistTasksDone != nil || m.ChecklistTasksAdded != nil || m.Gift != nil || m.UniqueGift != nil
}
