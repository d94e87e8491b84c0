package botapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

func TestSendMessage(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	asked := f.Say(dm, ada, "what?")
	bold := []models.MessageEntity{{Type: models.MessageEntityTypeBold, Offset: 3, Length: 4}}
	off := true
	m, err := f.bot.SendMessage(t.Context(), &bot.SendMessageParams{
		ChatID: dm.ID, Text: "😀 bold \n", Entities: bold,
		ReplyParameters:    &models.ReplyParameters{MessageID: asked, Quote: "hat"},
		LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: &off},
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.ID != 2 || m.Text != "😀 bold" || !reflect.DeepEqual(m.Entities, bold) || m.From.ID != f.Bot().ID || m.Chat.ID != ada.ID ||
		m.ReplyToMessage.ID != asked || m.ReplyToMessage.Text != "what?" || m.Quote.Text != "hat" || m.Quote.Position != 1 {
		t.Errorf("%+v", m)
	}
	if got := f.Sent(dm); len(got) != 1 || got[0].ID != m.ID || got[0].Text != m.Text {
		t.Errorf("%+v", got)
	}
	if got := f.Messages(dm); len(got) != 2 || got[0].ID != asked {
		t.Errorf("%+v", got)
	}
	if got := f.updates(object{}); len(got) != 1 {
		t.Errorf("the bot hears itself: %+v", got)
	}
	f.well()
}

// Nothing is idempotent.
func TestSendTwice(t *testing.T) {
	f := start(t, Options{})
	dm := f.Private(f.User("Ada", "ada"))
	for range 2 {
		f.ask("sendMessage", object{"chat_id": dm.ID, "text": "same"})
	}
	if got := f.Texts(dm); !slices.Equal(got, []string{"same", "same"}) {
		t.Error(got)
	}
}

func TestSendRefusals(t *testing.T) {
	f := start(t, Options{})
	ada, bob, eve := f.User("Ada", "ada"), f.User("Bob", "bob"), f.User("Eve", "eve")
	dm := f.Private(ada)
	crew := f.Supergroup("Crew", ada, bob)
	plain := f.Supergroup("Plain", ada)
	topic, closed, deleted := f.Topic(crew, "builds"), f.Topic(crew, "closed"), f.Topic(crew, "deleted")
	f.CloseTopic(closed)
	f.DeleteTopic(deleted)
	root := f.Say(plain, ada, "root")
	long := strings.Repeat("x", 4094)
	entity := func(kind string, offset, length int) []object {
		return []object{{"type": kind, "offset": offset, "length": length}}
	}
	for _, c := range []struct {
		name   string
		params object
		code   int
		want   string // prefix of the description; "": taken
	}{
		{"plain", object{"chat_id": dm.ID, "text": "x"}, 200, ""},
		{"a number as text", object{"chat_id": "5000000001", "text": "x"}, 200, ""},
		{"no chat", object{"text": "x"}, 400, "Bad Request: chat_id is empty"},
		{"unknown chat", object{"chat_id": 77, "text": "x"}, 400, "Bad Request: chat not found"},
		{"unknown name", object{"chat_id": "@nobody", "text": "x"}, 400, "Bad Request: chat not found"},
		{"a user who never wrote", object{"chat_id": bob.ID, "text": "x"}, 403, "Forbidden: bot can't initiate conversation with a user"},
		{"a user never met", object{"chat_id": eve.ID, "text": "x"}, 400, "Bad Request: chat not found"},
		{"no text", object{"chat_id": dm.ID}, 400, "Bad Request: message text is empty"},
		{"white text", object{"chat_id": dm.ID, "text": " \n\t"}, 400, "Bad Request: text must be non-empty"},
		{"4096 units", object{"chat_id": dm.ID, "text": long + "😀"}, 200, ""},
		{"4096 units and white space", object{"chat_id": dm.ID, "text": " " + long + "😀 \n"}, 200, ""},
		{"4097 units", object{"chat_id": dm.ID, "text": long + "x😀"}, 400, "Bad Request: message is too long"},
		{"parse mode", object{"chat_id": dm.ID, "text": "x", "parse_mode": "Markdown"}, 400, "Bad Request: this server parses no markup but HTML"},
		{"wrong HTML", object{"chat_id": dm.ID, "text": "<b>x", "parse_mode": "HTML"}, 400, "Bad Request: can't parse entities: can't find end tag"},
		{"parse mode and entities", object{"chat_id": dm.ID, "text": "x", "parse_mode": "HTML", "entities": entity("bold", 0, 1)}, 400, "Bad Request: parse_mode and entities"},
		{"entity beyond the end", object{"chat_id": dm.ID, "text": "x", "entities": entity("bold", 0, 2)}, 400, "Bad Request: can't parse entities"},
		{"entity inside a character", object{"chat_id": dm.ID, "text": "😀", "entities": entity("bold", 1, 1)}, 400, "Bad Request: can't parse entities"},
		{"unknown entity", object{"chat_id": dm.ID, "text": "x", "entities": entity("loud", 0, 1)}, 400, "Bad Request: can't parse entities"},
		{"unknown field of an entity", object{"chat_id": dm.ID, "text": "x", "entities": []object{{"kind": "bold"}}}, 400, `Bad Request: can't parse parameter "entities"`},
		{"reply to nothing", object{"chat_id": dm.ID, "text": "x", "reply_parameters": object{"message_id": 99}}, 400, "Bad Request: message to be replied not found"},
		{"reply to nothing, if need be", object{"chat_id": dm.ID, "text": "x", "reply_parameters": object{"message_id": 99, "allow_sending_without_reply": true}}, 200, ""},
		{"quote of nothing", object{"chat_id": plain.ID, "text": "x", "reply_parameters": object{"message_id": root, "quote": "leaf"}}, 400, "Bad Request: QUOTE_TEXT_INVALID"},
		{"reply elsewhere", object{"chat_id": plain.ID, "text": "x", "reply_parameters": object{"message_id": 1, "chat_id": dm.ID}}, 400, "Bad Request: this server replies"},
		{"topic", object{"chat_id": crew.ID, "text": "x", "message_thread_id": topic.Thread}, 200, ""},
		{"no topic", object{"chat_id": crew.ID, "text": "x", "message_thread_id": 999}, 400, "Bad Request: message thread not found"},
		{"general by number", object{"chat_id": crew.ID, "text": "x", "message_thread_id": 1 << 20}, 400, "Bad Request: message thread not found"},
		{"closed topic", object{"chat_id": crew.ID, "text": "x", "message_thread_id": closed.Thread}, 400, "Bad Request: TOPIC_CLOSED"},
		{"deleted topic", object{"chat_id": crew.ID, "text": "x", "message_thread_id": deleted.Thread}, 400, "Bad Request: message thread not found"},
		{"a thread that is no topic", object{"chat_id": plain.ID, "text": "x", "message_thread_id": root}, 400, "Bad Request: message thread not found"},
		{"topic in private", object{"chat_id": dm.ID, "text": "x", "message_thread_id": 1}, 400, "Bad Request: message thread not found"},
		{"unknown parameter", object{"chat_id": dm.ID, "text": "x", "txet": "x"}, 400, "Bad Request: unknown parameter txet"},
		{"a word for a number", object{"chat_id": crew.ID, "text": "x", "message_thread_id": "two"}, 400, `Bad Request: can't parse parameter "message_thread_id"`},
	} {
		before := len(f.Messages(dm)) + len(f.Messages(crew)) + len(f.Messages(plain))
		a := f.ask("sendMessage", c.params)
		sent := len(f.Messages(dm)) + len(f.Messages(crew)) + len(f.Messages(plain)) - before
		if a.HTTP != c.code || a.OK != (c.want == "") || !strings.HasPrefix(a.Description, c.want) {
			t.Errorf("%s: got %d %s, want %d %q", c.name, a.HTTP, a.Body, c.code, c.want)
		}
		if a.OK != (sent == 1) {
			t.Errorf("%s: ok is %v and %d messages were made", c.name, a.OK, sent)
		}
	}
	if v := f.Violations(); len(v) != 4 {
		t.Errorf("violations: %q", v)
	}
}

func TestBlocked(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	f.Block(ada)
	_, err := f.bot.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: dm.ID, Text: "x"})
	errorIs(t, err, bot.ErrorForbidden)
	f.refused(f.ask("sendChatAction", object{"chat_id": dm.ID, "action": "typing"}), 403, "Forbidden: bot was blocked by the user")
	f.Unblock(ada)
	if _, err := f.bot.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: dm.ID, Text: "x"}); err != nil {
		t.Error(err)
	}
	got := f.updates(object{})
	if len(got) != 2 || got[0].MyChatMember.NewChatMember.Type != models.ChatMemberTypeBanned || got[1].MyChatMember.NewChatMember.Type != models.ChatMemberTypeMember {
		t.Errorf("%+v", got)
	}
}

func TestKicked(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	for _, c := range []struct {
		chat Chat
		want string
	}{
		{f.Group("Old", ada), "Forbidden: bot was kicked from the group chat"},
		{f.Supergroup("New", ada), "Forbidden: bot was kicked from the supergroup chat"},
		{f.Channel("News", "news"), "Forbidden: bot was kicked from the channel chat"},
	} {
		f.Kick(c.chat)
		f.refused(f.ask("sendMessage", object{"chat_id": c.chat.ID, "text": "x"}), 403, c.want)
		f.refused(f.ask("getChat", object{"chat_id": c.chat.ID}), 403, c.want)
	}
	crew := f.Supergroup("Crew", ada)
	f.Kick(crew)
	f.Say(crew, ada, "unheard")
	f.Invite(crew)
	f.Say(crew, ada, "heard")
	var heard []string
	for _, u := range f.updates(object{}) {
		if u.Message != nil {
			heard = append(heard, u.Message.Text)
		}
	}
	if !slices.Equal(heard, []string{"heard"}) {
		t.Error(heard)
	}
}

func TestMigrate(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	old := f.Group("Crew", ada)
	f.Say(old, ada, "before")
	now := f.Migrate(old)
	_, err := f.bot.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: old.ID, Text: "x"})
	moved, ok := err.(*bot.MigrateError)
	if !ok || int64(moved.MigrateToChatID) != now.ID {
		t.Errorf("%v, want migration to %d", err, now.ID)
	}
	if a := f.ask("sendMessage", object{"chat_id": now.ID, "text": "x"}); !a.OK {
		t.Error(a.Body)
	}
	got := f.updates(object{})
	if len(got) != 3 || got[1].Message.Chat.ID != old.ID || got[1].Message.MigrateToChatID != now.ID ||
		got[2].Message.Chat.ID != now.ID || got[2].Message.MigrateFromChatID != old.ID {
		t.Errorf("%+v", got)
	}
	m, err := f.bot.GetChatMember(t.Context(), &bot.GetChatMemberParams{ChatID: now.ID, UserID: ada.ID})
	if err != nil || m.Type != models.ChatMemberTypeMember {
		t.Errorf("members do not migrate: %+v, %v", m, err)
	}
}

func TestChatAction(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	crew := f.Supergroup("Crew", ada)
	topic := f.Topic(crew, "builds")
	for _, p := range []*bot.SendChatActionParams{
		{ChatID: crew.ID, Action: models.ChatActionTyping},
		{ChatID: crew.ID, Action: models.ChatActionUploadPhoto, MessageThreadID: topic.Thread},
	} {
		if ok, err := f.bot.SendChatAction(t.Context(), p); !ok || err != nil {
			t.Error(ok, err)
		}
	}
	f.refused(f.ask("sendChatAction", object{"chat_id": crew.ID, "action": "thinking"}), 400, "Bad Request: wrong parameter action in request")
	f.refused(f.ask("sendChatAction", object{"chat_id": crew.ID, "action": "typing", "message_thread_id": 99}), 400, "Bad Request: message thread not found")
	if got := f.Actions(crew); !slices.Equal(got, []Action{{crew, "typing"}, {topic, "upload_photo"}}) {
		t.Error(got)
	}
	if got := f.Actions(topic); len(got) != 1 {
		t.Error(got)
	}
	f.well()
}

func TestTrim(t *testing.T) {
	mark := func(offset, length int) models.MessageEntity {
		return models.MessageEntity{Type: "code", Offset: offset, Length: length}
	}
	for _, c := range []struct {
		text     string
		entities []models.MessageEntity
		want     string
		kept     []models.MessageEntity
	}{
		{"x", nil, "x", nil},
		{" \n😀 x\n ", []models.MessageEntity{mark(5, 1)}, "😀 x", []models.MessageEntity{mark(3, 1)}},
		{"  x", []models.MessageEntity{mark(1, 2)}, " x", []models.MessageEntity{mark(0, 2)}},
		{"x \n", []models.MessageEntity{mark(0, 3)}, "x", []models.MessageEntity{mark(0, 1)}},
		{"x  ", []models.MessageEntity{mark(2, 1)}, "x", nil},
		{"  ", nil, "", nil},
	} {
		text, kept := trim(c.text, c.entities)
		if text != c.want || !reflect.DeepEqual(kept, c.kept) {
			t.Errorf("%q %v: got %q %v", c.text, c.entities, text, kept)
		}
	}
}

func TestTooManyEntities(t *testing.T) {
	f := start(t, Options{})
	dm := f.Private(f.User("Ada", "ada"))
	var list []object
	for i := range 101 {
		list = append(list, object{"type": "bold", "offset": 2 * i, "length": 1})
	}
	a := f.ask("sendMessage", object{"chat_id": dm.ID, "text": strings.Repeat("x ", 101), "entities": list})
	var m models.Message
	if err := json.Unmarshal(a.Result, &m); err != nil || len(m.Entities) != 100 {
		t.Errorf("%v: %s", err, a.Body)
	}
	f.blamed("101 entities")
}
