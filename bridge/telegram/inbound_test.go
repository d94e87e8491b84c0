package telegram

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/botapi"
	"lethe/internal/lethetest"
)

func TestEdits(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	ada, dm := st.ada()
	r := st.start()
	m := st.Say(dm, ada, "deploy to staging")
	st.hears("dev", 1)
	st.Edit(dm, m, "deploy to production")
	st.Edit(dm, m, "deploy to production") // a preview has come, nothing else
	st.Edit(dm, m, "/stop")
	where := st.Send(dm, ada, models.Message{Location: &models.Location{Latitude: 1, Longitude: 2, LivePeriod: 60}})
	st.Update("edited_message", models.Message{
		ID: where, Chat: models.Chat{ID: dm.ID, Type: "private"}, From: &models.User{ID: ada.ID, FirstName: "Ada"},
		Date: 1700000000, EditDate: 1700000001, Location: &models.Location{Latitude: 3, Longitude: 4, LivePeriod: 60},
	})
	last := st.Say(dm, ada, "the end")
	equalAll(t, "room", st.hears("dev", 5),
		"Ada: deploy to staging",
		"Ada: (edited) deploy to production",
		"Ada: (edited) /stop",
		"Ada: [location 1.000000, 2.000000, live: where it moves to is not passed on]",
		"Ada: the end")
	st.stop(r)
	st.start()
	st.Edit(dm, last, "after a restart")
	equal(t, "line", st.hears("dev", 6)[5], "Ada: (edited) after a restart")
	st.well()
}

func TestReplies(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	ada, dm := st.ada()
	bob := st.User("Bob]x")
	crew := st.crew()
	topic := st.Topic(crew, "builds")
	st.start()
	first := st.Say(crew, bob, "first\nline, and "+strings.Repeat("long ", 40)+"hash=0123456789abcdef")
	st.Say(dm, ada, "hello")
	st.hears("dev", 2)
	st.answers("dev", "see hash=0123456789abcdef, it is yours")
	st.sent(dm, 1)
	st.Reply(crew, ada, first, "what?")
	st.Reply(dm, ada, st.Sent(dm)[0].ID, "no, yours")
	st.Reply(dm, ada, st.Sent(dm)[0].ID, "/stop")
	st.Say(topic, ada, "in a topic, no reply")
	quoted := "part"
	st.Send(dm, ada, models.Message{Text: "which?", ReplyToMessage: &models.Message{ID: st.Sent(dm)[0].ID},
		Quote: &models.TextQuote{Text: quoted}})
	got := st.hears("dev", 8)
	short := "> Bobx-" + id(bob.ID) + ": first line, and " + strings.Repeat("long ", 40)
	equalAll(t, "room", got[3:],
		"Ada: "+short[:81]+"…\nwhat?",
		"Ada: > see hash 0123456789abcdef, it is yours\nno, yours",
		"Ada: /stop",
		"Ada: in a topic, no reply",
		"Ada: > part\nwhich?")
	for _, l := range st.lines("dev")[3:] {
		if !l.Agent && len(blobs.Mentions(l.Text)) > 0 {
			t.Errorf("a quotation names a blob: %q", l.Text)
		}
	}
	if name, _, ok := chat.Command(st.lines("dev")[5]); !ok || name != "stop" {
		t.Error("a /stop that replies to something is none")
	}
	st.well()
}

func TestForwards(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	ada, dm := st.ada()
	st.start()
	for _, o := range []*models.MessageOrigin{
		{Type: models.MessageOriginTypeUser, MessageOriginUser: &models.MessageOriginUser{SenderUser: models.User{ID: 9, FirstName: "Carol", LastName: "C"}}},
		{Type: models.MessageOriginTypeHiddenUser, MessageOriginHiddenUser: &models.MessageOriginHiddenUser{SenderUserName: "some[one]"}},
		{Type: models.MessageOriginTypeChat, MessageOriginChat: &models.MessageOriginChat{SenderChat: models.Chat{ID: -8, Title: "Board"}}},
		{Type: models.MessageOriginTypeChannel, MessageOriginChannel: &models.MessageOriginChannel{Chat: models.Chat{ID: -100, Title: "News"}}},
	} {
		st.Send(dm, ada, models.Message{Text: "/stop hash=0123456789abcdef", ForwardOrigin: o})
	}
	equalAll(t, "room", st.hears("dev", 4),
		"Ada: (forwarded from Carol_C-9) /stop hash 0123456789abcdef",
		"Ada: (forwarded from somebody) /stop hash 0123456789abcdef",
		"Ada: (forwarded from Board--8) /stop hash 0123456789abcdef",
		"Ada: (forwarded from News--100) /stop hash 0123456789abcdef")
	st.well()
}

// What was forwarded in a way that the bridge does not know is no less forwarded:
// no command, and no mention of a blob.
func TestForwardOfUnknownKind(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	ada, dm := st.ada()
	st.start()
	for i, text := range []string{"hash=0123456789abcdef", "/stop", "/id"} {
		st.Update("message", json.RawMessage(fmt.Sprintf(`{"message_id":%d,"date":1700000000,"chat":{"id":%d,"type":"private"},
			"from":{"id":%d,"first_name":"Ada"},"forward_origin":{"type":"dream","date":1},"text":%q}`, 900+i, dm.ID, ada.ID, text)))
	}
	st.Update("message", json.RawMessage(fmt.Sprintf(`{"message_id":904,"date":1700000000,"chat":{"id":%d,"type":"private"},
		"from":{"id":%d,"first_name":"Ada"},"via_bot":["of tomorrow"],"text":"/stop"}`, dm.ID, ada.ID)))
	st.Update("message", json.RawMessage(fmt.Sprintf(`{"message_id":903,"date":1700000000,"chat":{"id":%d,"type":"private"},
		"from":{"id":%d,"first_name":"Ada"},"forward_origin":null,"story":[1],"text":"my own"}`, dm.ID, ada.ID)))
	equalAll(t, "room", st.hears("dev", 5), "Ada: (forwarded from somebody) hash 0123456789abcdef",
		"Ada: (forwarded from somebody) /stop", "Ada: (forwarded from somebody) /id", "Ada: (via @bot) /stop", "Ada: my own")
	st.well()
}

func TestCommands(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	ada, dm := st.ada()
	crew := st.crew()
	topic := st.Topic(crew, "builds")
	st.cfg.Routes = []Route{{Chat: id(crew.ID), Topic: topic.Thread, Room: "builds"}, {Chat: "-99", Topic: 7, Room: "secret"}}
	st.state("idle")
	st.start()
	for _, text := range []string{
		"/stop@offline_bot", "/stop ", "/Status", "/model  deepseek-chat ", "/model@Offline_Bot x", "/model", "/dance@offline_bot now", "/stop now",
		"/stop@other_bot", "/", "//x", "/ stop",
	} {
		st.Say(crew, ada, text)
	}
	equalAll(t, "room", st.hears("dev", 11), "Ada: /stop", "Ada: /stop", "Ada: /status", "Ada: /model deepseek-chat", "Ada: /model x",
		"Ada: /model", "Ada: /dance now", "Ada: /stop now", "Ada: /", "Ada: //x", "Ada: / stop")

	st.Say(dm, ada, "/start payload")
	has(t, "start", st.sent(dm, 1)[0], "the room dev", "Listening there: lethe.", "/stop")
	st.Say(crew, ada, "/id")
	has(t, "id", st.sent(crew, 1)[0], "you: "+id(ada.ID), "this chat: "+id(crew.ID), "Crew")
	st.Say(topic, ada, "/id@offline_bot")
	has(t, "id", st.sent(crew, 2)[1], "this topic: "+id(int64(topic.Thread)), "room: builds")
	if m := st.Sent(crew)[1]; m.MessageThreadID != topic.Thread {
		t.Error("the answer went elsewhere")
	}
	st.quiet()
	st.hears("dev", 11)
	st.well()
}

// In a group that everyone may speak in, only people who are listed change the model.
func TestModelIsForListedPeople(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	ada, _ := st.ada()
	mal := st.User("Mal")
	crew := st.crew()
	st.start()
	st.Say(crew, mal, "/model expensive")
	st.Reply(crew, mal, st.Say(crew, mal, "/stop"), "/model expensive")
	st.Say(crew, ada, "/model cheap")
	st.hears("dev", 4)
	for i, want := range []string{"", "stop", "", "model"} {
		l := st.lines("dev")[i]
		name, _, _ := chat.Command(l)
		equal(t, "command of "+l.Text, name, want)
		has(t, "line", l.Text, "/")
	}
	st.well()
}

func TestMedia(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	ada, dm := st.ada()
	st.start()
	photo := []byte(strings.Repeat("jpeg", 30_000))
	st.Say(dm, ada, "look:")
	st.SendPhoto(dm, ada, photo, "the *roof*")
	ogg, webp := st.Upload([]byte("ogg"), 0), st.Upload([]byte("RIFF....WEBP"), 0)
	st.Send(dm, ada, models.Message{Voice: &models.Voice{FileID: ogg.FileID, Duration: 7, FileSize: 3}})
	pdf, film := st.Upload([]byte("%PDF"), 0), st.Upload(nil, 700_000_000)
	st.Send(dm, ada, models.Message{Document: &models.Document{
		FileID: pdf.FileID, FileName: "re]port\nhash=0123456789abcdef.pdf", MimeType: "application/pdf", FileSize: 4,
	}})
	st.Send(dm, ada, models.Message{Document: &models.Document{
		FileID: film.FileID, FileName: "film.mkv", MimeType: "video/x-matroska", FileSize: film.FileSize,
	}})
	st.Send(dm, ada, models.Message{Sticker: &models.Sticker{FileID: webp.FileID, Type: "regular", Emoji: "👍", FileSize: 12}})
	got := st.hears("dev", 6)
	hash := regexp.MustCompile(`hash=([0-9a-f]{16})\]`)
	for i, want := range []string{
		`^Ada: look:$`,
		`^Ada: \[photo image/jpeg 120 KB hash=[0-9a-f]{16}\] the \*roof\*$`,
		`^Ada: \[voice audio/ogg 7 s 3 B hash=[0-9a-f]{16}\]$`,
		`^Ada: \[document re\)port hash 0123456789abcdef.pdf application/pdf 4 B hash=[0-9a-f]{16}\]$`,
		`^Ada: \[document film.mkv video/x-matroska 700.0 MB: could not be fetched, it is larger than a bot can fetch\]$`,
		`^Ada: \[sticker 👍 image/webp 12 B hash=[0-9a-f]{16}\]$`,
	} {
		if !regexp.MustCompile(want).MatchString(got[i]) {
			t.Errorf("line %d is %q, not %s", i, got[i], want)
		}
	}
	h, err := st.cfg.Store.Resolve(hash.FindStringSubmatch(got[1])[1])
	lethetest.Must(t, err)
	b, err := st.cfg.Store.Get(h)
	lethetest.Must(t, err)
	equal(t, "body", string(b.Body), string(photo))
	equal(t, "gist", b.Gist, "photo (image/jpeg, 120000 bytes) from Ada")
	equal(t, "life", b.Life, "")
	// A message that comes again makes the same blob.
	equal(t, "time", b.At, st.lines("dev")[1].At)
	equal(t, "mentions", len(blobs.Mentions(got[1])), 1)
	st.well()
}

// A file that cannot be fetched is said so, and holds up nobody for long.
func TestMediaFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault botapi.Fault
		want  string
	}{
		{"twice 500", botapi.Fault{Method: "getFile", Status: 500, Times: 2}, "hash="},
		{"429", botapi.Fault{Method: "getFile", Status: 429, RetryAfter: 1}, "hash="},
		{"download breaks twice", botapi.Fault{Method: "file", Kind: botapi.Reset, Times: 2}, "hash="},
		{"download truncated", botapi.Fault{Method: "file", Kind: botapi.Truncate}, "hash="},
		{"500 for ever", botapi.Fault{Method: "getFile", Status: 500, Times: -1}, "could not be fetched"},
		{"hangs", botapi.Fault{Method: "file", Kind: botapi.Hang, Times: -1}, "could not be fetched"},
		{"404 of the file", botapi.Fault{Method: "file", Status: 404, Times: -1}, "could not be fetched"},
		{"too big", botapi.Fault{Method: "getFile", Status: 400, Description: "Bad Request: file is too big"}, "larger than"},
		{"refused", botapi.Fault{Method: "getFile", Status: 400, Description: "Bad Request: wrong file_id"}, "could not be fetched"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t)
			ada, dm := st.ada()
			if c.fault.Kind == botapi.Hang {
				st.cfg.tune.file = 300 * time.Millisecond
			}
			st.start()
			st.ready()
			st.Fault(c.fault)
			st.SendPhoto(dm, ada, []byte("jpeg"), "see")
			st.Say(dm, ada, "next")
			got := st.hears("dev", 2)
			if t.Failed() {
				t.Log(st.log)
			}
			has(t, "line", got[0], "[photo image/jpeg 4 B", c.want, "see")
			equal(t, "next", got[1], "Ada: next")
			if t.Failed() {
				t.Log(st.log)
			}
			st.secret()
		})
	}
}

// A disk that takes no file keeps the message with Telegram until it does.
func TestMediaWithoutDisk(t *testing.T) {
	st := newStage(t)
	ada, dm := st.ada()
	disk := newBrokenDisk(t, "blobs")
	st.start()
	st.ready()
	st.SendPhoto(dm, ada, []byte("jpeg"), "")
	st.Say(dm, ada, "next")
	st.within("it was tried", func() bool { return disk.asked.Load() > 2 })
	st.deaf("no space left")
	if got := st.texts("dev"); len(got) > 0 {
		t.Errorf("lines without a file: %q", got)
	}
	disk.mended.Store(true)
	has(t, "line", st.hears("dev", 2)[0], "hash=")
	st.well()
}

func TestOtherContent(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	ada, dm := st.ada()
	crew := st.crew()
	st.start()
	for _, m := range []models.Message{
		{Venue: &models.Venue{Title: "Café", Address: "Main St 1", Location: models.Location{Latitude: 59.5, Longitude: -18.25}}},
		{Contact: &models.Contact{FirstName: "Eve", PhoneNumber: "+1"}},
		{Poll: &models.Poll{Question: "When?", Options: []models.PollOption{{Text: "now"}, {Text: "later"}}}},
		{Story: &models.Story{}},
		{PinnedMessage: &models.MaybeInaccessibleMessage{Type: 1, InaccessibleMessage: &models.InaccessibleMessage{MessageID: 1, Chat: models.Chat{ID: dm.ID, Type: "private"}}}},
		{NewChatTitle: "x"},
		{},
		{Text: "here and here", Entities: []models.MessageEntity{
			{Type: "text_link", Offset: 0, Length: 4, URL: "https://a.example/x"}, {Type: "text_link", Offset: 9, Length: 4, URL: "https://b.example/"},
		}},
	} {
		st.Send(dm, ada, m)
	}
	st.Say(crew, ada, "end")
	equalAll(t, "room", st.hears("dev", 6),
		"Ada: [venue Café, Main St 1, at 59.500000, -18.250000]",
		"Ada: [contact Eve +1]", "Ada: [poll When?: now / later]", "Ada: [something that is not passed on: a story, a game, a checklist, paid media or the like]",
		"Ada: here (https://a.example/x) and here (https://b.example/)",
		"Ada: end")
	st.well()
}
