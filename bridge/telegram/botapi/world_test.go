package botapi

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// next is the one update that waits, which is confirmed.
func (f *fixture) next() models.Update {
	f.t.Helper()
	list := f.updates(object{"limit": 1})
	if len(list) != 1 {
		f.t.Fatal("no update")
	}
	f.updates(object{"offset": list[0].ID + 1, "limit": 1})
	return list[0]
}

func TestSay(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	first := f.Say(dm, ada, "😀 /start me (@crew_bot)")
	m := f.next().Message
	if m.ID != first || m.From.ID != ada.ID || m.From.FirstName != "Ada" || m.From.IsBot || m.Chat.ID != ada.ID || m.Chat.Type != "private" ||
		m.Chat.Username != "ada" || m.Date == 0 || m.MessageThreadID != 0 {
		t.Errorf("%+v", m)
	}
	want := []models.MessageEntity{{Type: "bot_command", Offset: 3, Length: 6}, {Type: "mention", Offset: 14, Length: 9}}
	if !reflect.DeepEqual(m.Entities, want) {
		t.Errorf("%+v", m.Entities)
	}
	second := f.Reply(dm, ada, first, "more")
	if m = f.next().Message; m.ID != second || m.ReplyToMessage == nil || m.ReplyToMessage.ID != first {
		t.Errorf("%+v", m)
	}
	f.Edit(dm, first, "hullo")
	u := f.next()
	if m = u.EditedMessage; m == nil || m.ID != first || m.Text != "hullo" || m.EditDate == 0 || m.Entities != nil {
		t.Errorf("%+v", u)
	}
	f.Delete(dm, second)
	if f.Pending() != 0 || len(f.Messages(dm)) != 1 {
		t.Error("deleted")
	}
}

// Message ids count for each chat apart.
func TestIDs(t *testing.T) {
	s := New(Options{})
	ada, bob := s.User("Ada", "ada"), s.User("Bob", "")
	crew := s.Group("Crew", ada, bob)
	if a, b := s.Say(s.Private(ada), ada, "x"), s.Say(crew, bob, "x"); a != 1 || b != 1 {
		t.Error(a, b)
	}
	if one, two := s.Private(ada), s.Private(ada); one != two {
		t.Error("two private chats")
	}
	got := []int64{ada.ID, bob.ID, crew.ID, s.Group("Other").ID, s.Supergroup("Super").ID, s.Channel("News", "").ID}
	if !slices.Equal(got, []int64{5000000001, 5000000002, -4000000001, -4000000002, -1002000000001, -1002000000002}) {
		t.Error(got)
	}
}

func TestTopics(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	crew := f.Supergroup("Crew", ada)
	topic := f.Topic(crew, "builds")
	if m := f.next().Message; m.ForumTopicCreated.Name != "builds" || m.ID != topic.Thread || m.MessageThreadID != topic.Thread || !m.IsTopicMessage || !m.Chat.IsForum {
		t.Errorf("%+v", m)
	}
	f.Say(topic, ada, "in it")
	m := f.next().Message
	if m.MessageThreadID != topic.Thread || !m.IsTopicMessage || m.ReplyToMessage == nil || m.ReplyToMessage.ForumTopicCreated == nil {
		t.Errorf("%+v", m)
	}
	general := f.Say(crew, ada, "in general")
	if m := f.next().Message; m.MessageThreadID != 0 || m.IsTopicMessage || m.ReplyToMessage != nil {
		t.Errorf("%+v", m)
	}
	f.Delete(crew, f.Reply(crew, ada, general, "a reply in general"))
	if m := f.next().Message; m.MessageThreadID != 0 || m.ReplyToMessage.ID != general {
		t.Errorf("%+v", m)
	}
	f.ask("sendMessage", object{"chat_id": crew.ID, "message_thread_id": topic.Thread, "text": "there"})
	if got := f.Texts(topic); !slices.Equal(got, []string{"there"}) {
		t.Error(got)
	}
	if len(f.Messages(topic)) != 3 || len(f.Messages(crew)) != 4 {
		t.Error("messages of a topic are not those of the chat")
	}
	if a := f.ask("sendMessage", object{"chat_id": crew.ID, "reply_parameters": object{"message_id": m.ID}, "text": "and there"}); !a.OK || len(f.Texts(topic)) != 2 {
		t.Errorf("a reply leaves its topic: %s", a.Body)
	}
	f.CloseTopic(topic)
	if m := f.next().Message; m.ForumTopicClosed == nil || m.MessageThreadID != topic.Thread {
		t.Errorf("%+v", m)
	}
	f.ReopenTopic(topic)
	if m := f.next().Message; m.ForumTopicReopened == nil {
		t.Errorf("%+v", m)
	}
	if a := f.ask("sendMessage", object{"chat_id": crew.ID, "message_thread_id": topic.Thread, "text": "again"}); !a.OK {
		t.Error(a.Body)
	}
	f.DeleteTopic(topic)
	if got := f.Messages(crew); len(got) != 1 || got[0].Text != "in general" {
		t.Errorf("%+v", got)
	}
}

// In a supergroup without topics replies have a thread, and it is no topic.
func TestReplyThreads(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	super, old := f.Supergroup("Crew", ada), f.Group("Old", ada)
	root := f.Say(super, ada, "root")
	f.next()
	second := f.Reply(super, ada, root, "second")
	if m := f.next().Message; m.MessageThreadID != root || m.IsTopicMessage {
		t.Errorf("%+v", m)
	}
	f.Reply(super, ada, second, "third")
	if m := f.next().Message; m.MessageThreadID != root || m.ReplyToMessage.ID != second || m.ReplyToMessage.ReplyToMessage != nil {
		t.Errorf("%+v", m)
	}
	f.Reply(old, ada, f.Say(old, ada, "root"), "second")
	f.next()
	if m := f.next().Message; m.MessageThreadID != 0 {
		t.Errorf("%+v", m)
	}
}

func TestChannel(t *testing.T) {
	f := start(t, Options{})
	news := f.Channel("News", "news")
	id := f.Post(news, "today")
	if u := f.next(); u.ChannelPost == nil || u.ChannelPost.From != nil || u.ChannelPost.SenderChat.ID != news.ID {
		t.Errorf("%+v", u)
	}
	f.Edit(news, id, "tomorrow")
	if u := f.next(); u.EditedChannelPost == nil || u.EditedChannelPost.Text != "tomorrow" {
		t.Errorf("%+v", u)
	}
	if _, err := f.bot.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: "@news", Text: "by name"}); err != nil {
		t.Error(err)
	}
	if got := f.Sent(news); len(got) != 1 || got[0].Text != "by name" || got[0].From != nil || got[0].SenderChat.ID != news.ID {
		t.Errorf("%+v", got)
	}
}

func TestPrivacy(t *testing.T) {
	f := start(t, Options{Privacy: true, Username: "crew_bot"})
	ada := f.User("Ada", "ada")
	crew := f.Supergroup("Crew", ada)
	m, err := f.bot.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: crew.ID, Text: "I am here"})
	if err != nil {
		t.Fatal(err)
	}
	mine := f.Say(crew, ada, "unheard")
	f.Say(crew, ada, "@crew_bot heard")
	f.Say(crew, ada, "@other_bot unheard")
	f.Say(crew, ada, "/stop heard")
	f.Say(crew, ada, "/stop@crew_bot heard")
	f.Say(crew, ada, "/stop@other_bot unheard")
	f.Reply(crew, ada, m.ID, "heard, too")
	f.Reply(crew, ada, mine, "unheard")
	f.SendPhoto(crew, ada, []byte("jpeg"), "unheard")
	f.SendPhoto(crew, ada, []byte("jpeg"), "@crew_bot heard")
	f.Join(crew, f.User("Bob", "bob"))
	f.Say(f.Private(ada), ada, "heard, in private")
	var heard []string
	for _, u := range f.updates(object{}) {
		heard = append(heard, u.Message.Text+u.Message.Caption)
	}
	want := []string{"@crew_bot heard", "/stop heard", "/stop@crew_bot heard", "heard, too", "@crew_bot heard", "", "heard, in private"}
	if !slices.Equal(heard, want) {
		t.Errorf("%q", heard)
	}
	if me, _ := f.bot.GetMe(t.Context()); me.CanReadAllGroupMessages {
		t.Error("getMe says nothing of privacy")
	}
}

// Misuse from the world's side panics and leaves no lock held.
func TestMisuse(t *testing.T) {
	s := New(Options{})
	ada := s.User("Ada", "ada")
	dm, old := s.Private(ada), s.Group("Old", ada)
	s.Migrate(old)
	for name, misuse := range map[string]func(){
		"chat":         func() { s.Say(Chat{ID: 1}, ada, "x") },
		"topic":        func() { s.Say(Chat{ID: dm.ID, Thread: 1}, ada, "x") },
		"user":         func() { s.Say(dm, User{ID: 9}, "x") },
		"private":      func() { s.Private(User{ID: 9}) },
		"moved":        func() { s.Say(old, ada, "x") },
		"migrate":      func() { s.Migrate(old) },
		"migrate dm":   func() { s.Migrate(dm) },
		"post":         func() { s.Post(dm, "x") },
		"edit":         func() { s.Edit(dm, 99, "x") },
		"topic in dm":  func() { s.Topic(dm, "x") },
		"fault":        func() { s.Fault(Fault{Kind: "x"}) },
		"block nobody": func() { s.Block(User{ID: 9}) },
		"messages":     func() { s.Messages(Chat{ID: 1}) },
		"close chat":   func() { s.CloseTopic(dm) },
		"delete chat":  func() { s.DeleteTopic(dm) },
		"no update":    func() { s.Update(models.Update{}) },
		"no JSON":      func() { s.RawUpdate("x", "{") },
	} {
		func() {
			defer func() {
				if text, ok := recover().(string); !ok || !strings.HasPrefix(text, "botapi: ") {
					t.Errorf("%s: %q", name, text)
				}
			}()
			misuse()
		}()
	}
	s.Say(dm, ada, "still alive")
}

func TestEditAndDeleteByBot(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	hers := f.Say(dm, ada, "hers")
	m, err := f.bot.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: dm.ID, Text: "one"})
	if err != nil {
		t.Fatal(err)
	}
	edited, err := f.bot.EditMessageText(t.Context(), &bot.EditMessageTextParams{ChatID: dm.ID, MessageID: m.ID, Text: "two"})
	if err != nil || edited.Text != "two" || edited.EditDate == 0 || f.Texts(dm)[0] != "two" {
		t.Errorf("%+v, %v", edited, err)
	}
	edit := func(id int, text string) reply {
		return f.ask("editMessageText", object{"chat_id": dm.ID, "message_id": id, "text": text})
	}
	f.refused(edit(m.ID, "two"), 400, "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	f.refused(edit(hers, "x"), 400, "Bad Request: message can't be edited")
	f.refused(edit(99, "x"), 400, "Bad Request: message to edit not found")
	f.refused(edit(m.ID, ""), 400, "Bad Request: message text is empty")
	if ok, err := f.bot.DeleteMessage(t.Context(), &bot.DeleteMessageParams{ChatID: dm.ID, MessageID: m.ID}); !ok || err != nil {
		t.Error(ok, err)
	}
	f.refused(f.ask("deleteMessage", object{"chat_id": dm.ID, "message_id": m.ID}), 400, "Bad Request: message to delete not found")
	if len(f.Sent(dm)) != 0 {
		t.Error("not deleted")
	}
	f.well()
}

func TestReactions(t *testing.T) {
	f := start(t, Options{})
	ada := f.User("Ada", "ada")
	dm := f.Private(ada)
	id := f.Say(dm, ada, "well?")
	eyes := models.ReactionType{Type: models.ReactionTypeTypeEmoji, ReactionTypeEmoji: &models.ReactionTypeEmoji{Emoji: "👀"}}
	for _, p := range []*bot.SetMessageReactionParams{
		{ChatID: dm.ID, MessageID: id, Reaction: []models.ReactionType{eyes}},
		{ChatID: dm.ID, MessageID: id},
	} {
		if ok, err := f.bot.SetMessageReaction(t.Context(), p); !ok || err != nil {
			t.Error(ok, err)
		}
	}
	if got := f.Reactions(dm); !slices.Equal(got, []Reaction{{dm, id, "👀"}, {dm, id, ""}}) {
		t.Error(got)
	}
	emoji := func(e string) object { return object{"type": "emoji", "emoji": e} }
	f.refused(f.ask("setMessageReaction", object{"chat_id": dm.ID, "message_id": 99}), 400, "Bad Request: message to react not found")
	f.refused(f.ask("setMessageReaction", object{"chat_id": dm.ID, "message_id": id, "reaction": []object{emoji("🦖")}}), 400, "Bad Request: REACTION_INVALID")
	f.refused(f.ask("setMessageReaction", object{"chat_id": dm.ID, "message_id": id, "reaction": []object{emoji("👍"), emoji("👎")}}), 400, "Bad Request: REACTIONS_TOO_MANY")
}

func TestChatsAndMembers(t *testing.T) {
	f := start(t, Options{})
	ada, bob := f.User("Ada", "ada"), f.User("Bob", "bob")
	crew := f.Supergroup("Crew", ada)
	c, err := f.bot.GetChat(t.Context(), &bot.GetChatParams{ChatID: crew.ID})
	if err != nil || c.Title != "Crew" || c.Type != "supergroup" {
		t.Errorf("%+v, %v", c, err)
	}
	f.refused(f.ask("getChat", object{"chat_id": 1}), 400, "Bad Request: chat not found")
	for user, want := range map[int64]models.ChatMemberType{ada.ID: "member", bob.ID: "left", f.Bot().ID: "member"} {
		m, err := f.bot.GetChatMember(t.Context(), &bot.GetChatMemberParams{ChatID: crew.ID, UserID: user})
		if err != nil || m.Type != want {
			t.Errorf("%d: %+v, %v", user, m, err)
		}
	}
	f.refused(f.ask("getChatMember", object{"chat_id": crew.ID, "user_id": 9}), 400, "Bad Request: user not found")
	f.Join(crew, bob)
	if m := f.next().Message; len(m.NewChatMembers) != 1 || m.NewChatMembers[0].ID != bob.ID {
		t.Errorf("%+v", m)
	}
}

func TestCommands(t *testing.T) {
	f := start(t, Options{})
	list := []models.BotCommand{{Command: "start", Description: "begin"}, {Command: "id", Description: "who am I"}}
	ok, err := f.bot.SetMyCommands(t.Context(), &bot.SetMyCommandsParams{Commands: list, Scope: &models.BotCommandScopeAllPrivateChats{}})
	if !ok || err != nil || !slices.Equal(f.Commands(), list) {
		t.Error(ok, err, f.Commands())
	}
	if got, err := f.bot.GetMyCommands(t.Context(), nil); err != nil || !slices.Equal(got, list) {
		t.Error(got, err)
	}
	set := func(command, description string) reply {
		return f.ask("setMyCommands", object{"commands": []object{{"command": command, "description": description}}})
	}
	f.refused(set("/start", "x"), 400, "Bad Request: BOT_COMMAND_INVALID")
	f.refused(set("Start", "x"), 400, "Bad Request: BOT_COMMAND_INVALID")
	f.refused(set("start", ""), 400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
	f.well()
}
