package telegram

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"lethe/bridge"
	"lethe/bridge/access"
)

// note is what a line of ours keeps of its message, for the answer that quotes it.
type note struct {
	Chat    int64 `json:"c"`
	Message int   `json:"m"`
	Thread  int   `json:"t,omitempty"`
	Bot     bool  `json:"b,omitempty"` // another bot wrote it
}

// draft is a line on its way, whose file may still have to come.
type draft struct {
	bridge.Message
	note note
	text text
	file *file
}

// text is what a line says beside the file.
type text struct {
	before string // in front of the file: the quotation, the edit, the forward
	words  string
}

// with is the whole text, with what is to be said of the file.
func (t text) with(file string) string {
	before := t.before
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += " "
	}
	return before + strings.TrimSpace(file+" "+t.words)
}

// heard is what an update comes to: a line or none, and what is to be done when it
// is safe.
type heard struct {
	update int64
	draft  *draft
	then   []func()
}

// hear decides what becomes of an update. It changes nothing that matters if the
// update comes again: what it wants done is in heard.then.
func (s *session) hear(a arrival) (h heard, err error) {
	if a.Err != nil {
		s.log.Warn("an update makes no sense and is passed over", "update", a.ID, "type", a.Kind, "error", a.Err)
		return h, nil
	}
	// While the list cannot be read nobody is a stranger, and Telegram keeps what
	// came. All that follows rests on what it says now.
	rules, err := s.policy.Rules()
	if err != nil {
		return h, err
	}
	if a.MyChatMember != nil {
		return s.membership(a.MyChatMember, rules), nil
	}
	m, edited := a.message()
	switch {
	case m == nil:
		return h, nil
	case m.MigrateToChatID != 0:
		return h, s.migrated(m.Chat.ID, m.MigrateToChatID)
	case m.MigrateFromChatID != 0:
		return h, s.migrated(m.MigrateFromChatID, m.Chat.ID)
	case service(m), edited && m.Location != nil: // a live location is edited every few seconds
		return h, nil
	}
	who, at := authorOf(m), s.spot(m, rules)
	if who.Bot && !rules.User(who.id()) {
		h.then = append(h.then, func() { s.denied(who, at, "other bots are heard only if they are listed") })
		return h, nil
	}
	cmd, isCommand := commandOf(m.Text)
	if isCommand = isCommand && !edited && !foreign(m); isCommand {
		if cmd.Bot != "" && !strings.EqualFold(cmd.Bot, s.user().Username) {
			return h, nil
		}
	}
	if v := rules.Decide(who.id(), at.policy, at.private()); !v.Allowed {
		asks := isCommand && (cmd.Name == "start" || cmd.Name == "id")
		return s.stranger(m, who, at, v.Why, asks, rules.Chat(at.policy)), nil
	}
	if isCommand {
		if reply, ok := s.reply(cmd, who, at, rules); ok {
			h.then = append(h.then, func() { s.aside(reply) })
			return h, nil
		}
	}
	d, ok, err := s.draft(a.ID, m, who, at, edited, rules)
	if err != nil || !ok {
		return h, err
	}
	d.User = rules.NameFor(who.id(), who.Claimed)
	if isCommand {
		d.text.words = cmd.line(d.text.words)
		switch _, harness := cmd.harness(); {
		case harness && cmd.Name == "model" && !rules.User(who.id()):
			d.text.words = "(not obeyed: only people who are listed may use /model) " + d.text.words
		case harness:
			d.text.before = "" // behind a quotation nobody would obey it
		}
	}
	s.seen.add(a.ID, m)
	h.draft = d
	return h, nil
}

// foreign says that the words of a message are not its sender's own: they come from
// elsewhere, or another bot wrote them for him to send.
func foreign(m *models.Message) bool { return m.ForwardOrigin != nil || m.ViaBot != nil }

// spot is where a message was written.
type spot struct {
	chat   models.Chat
	policy string // the chat's id as the policy and the routes know it
	thread int    // the topic; 0: none
	peer   string
	room   string
	id     int // of the message
}

func (p spot) private() bool { return p.chat.Type == models.ChatTypePrivate }

func (s *session) spot(m *models.Message, rules access.Rules) spot {
	p := spot{chat: m.Chat, id: m.ID}
	if m.IsTopicMessage { // without it a thread is only a chain of replies
		p.thread = m.MessageThreadID
	}
	p.policy = s.memory.canonical(strconv.FormatInt(m.Chat.ID, 10))
	p.peer, p.room = s.peerOf(p.policy, p.thread, rules)
	return p
}

// draft makes the line of a message, but for the name that signs it; ok is false when
// there is nothing to say.
func (s *session) draft(update int64, m *models.Message, who author, at spot, edited bool, rules access.Rules) (d *draft, ok bool, err error) {
	t := text{words: words(m)}
	f, hasFile := fileIn(m, s.cfg.tune.maxFile)
	if !hasFile && strings.TrimSpace(t.words) == "" {
		if t.words = other(m); t.words == "" {
			if !at.private() {
				return nil, false, nil
			}
			t.words = "[a kind of message that the bridge does not know]"
		}
	}
	if edited {
		was, known := s.seen.before(update, m)
		if known && was == memoOf(m) {
			return nil, false, nil // the preview of a link has come, or the like
		}
		t.before = "(edited)"
		if was.gist != "" {
			t.before = fmt.Sprintf("(edited, was %q)", clip(was.gist, maxQuote/2))
		}
	}
	if from := s.forwarded(m, rules); from != "" {
		t.before = strings.TrimSpace(t.before + " " + from)
	}
	if m.ViaBot != nil {
		t.before = strings.TrimSpace(t.before + " (via @" + inert(cmp.Or(m.ViaBot.Username, "bot")) + ")")
	}
	if foreign(m) {
		t.words = strings.ReplaceAll(t.words, "hash=", "hash ")
	}
	if q := s.quote(m, at, rules); q != "" {
		t.before = q + "\n" + t.before
	}
	n := note{Chat: m.Chat.ID, Message: m.ID, Thread: at.thread, Bot: who.Bot}
	data, err := json.Marshal(n)
	if err != nil {
		return nil, false, err
	}
	d = &draft{note: n, text: t, Message: bridge.Message{
		ID: fmt.Sprintf("%s/u%d", s.source, update), Peer: at.peer, Room: at.room, Key: who.id(),
		At: said(m), Note: data,
	}}
	if hasFile {
		d.file = &f
	}
	return d, true, nil
}

// anew puts drafts before the rules and the routes of this moment, which may be
// others than when they were heard: a file can take a minute. Those whose writers may
// not speak any more are left out, the others go where their chat is by now.
func (s *session) anew(drafts []*draft) (left []*draft, msgs []bridge.Message, err error) {
	if len(drafts) == 0 {
		return nil, nil, nil
	}
	s.refresh(twice)
	rules, err := s.policy.Rules()
	if err != nil {
		return nil, nil, err
	}
	for _, d := range drafts {
		d.Peer, d.Room = s.peerOf(s.memory.canonical(strconv.FormatInt(d.note.Chat, 10)), d.note.Thread, rules)
		if !s.may(d.Message, rules) {
			if s.policy.Denied(d.Key) {
				s.log.Info("somebody may not speak any more; what they wrote just before is not passed on", "user", d.Key, "name", d.User)
			}
			continue
		}
		left, msgs = append(left, d), append(msgs, d.Message)
	}
	return left, msgs, nil
}

// said is when a message, or its edit, was written.
func said(m *models.Message) time.Time {
	if at := cmp.Or(m.EditDate, m.Date); at > 0 {
		return time.Unix(int64(at), 0)
	}
	return time.Now()
}
