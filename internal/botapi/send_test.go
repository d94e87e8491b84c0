package botapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-telegram/bot/models"
)

func TestSendMessage(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	asked := f.Say(dm, ada, "what?")
	a := f.ask("sendMessage", object{"chat_id": dm.ID, "text": "😀 <b>bold</b> &lt; \n", "parse_mode": "HTML", "reply_parameters": object{"message_id": asked}})
	bold := []models.MessageEntity{{Type: models.MessageEntityTypeBold, Offset: 3, Length: 4}}
	m := f.Sent(dm)[0]
	if !a.OK || m.ID != 2 || m.Text != "😀 bold <" || !reflect.DeepEqual(m.Entities, bold) || m.ReplyToMessage.ID != asked {
		t.Errorf("%+v", m)
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
		{"no chat", object{"text": "x"}, 400, "Bad Request: chat_id is no number"},
		{"unknown chat", object{"chat_id": 77, "text": "x"}, 400, "Bad Request: chat not found"},
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
		before := len(f.Sent(dm)) + len(f.Sent(crew)) + len(f.Sent(plain))
		a := f.ask("sendMessage", c.params)
		sent := len(f.Sent(dm)) + len(f.Sent(crew)) + len(f.Sent(plain)) - before
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
