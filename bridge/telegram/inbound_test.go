package telegram

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"lethe/blobs"
	"lethe/internal/test/botapi"
	"lethe/internal/test/lethetest"
)

func TestEdits(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	r := st.start()
	m := ada.says("deploy to staging")
	st.hears("dev", 1)
	st.Edit(ada.dm, m, "deploy to production")
	st.Edit(ada.dm, m, "deploy to production") // a preview has come, nothing else
	st.Edit(ada.dm, m, "/stop")
	st.Update("edited_message", models.Message{
		ID: 900, Chat: models.Chat{ID: ada.dm.ID, Type: "private"}, From: &ada.User,
		Date: 1700000000, EditDate: 1700000001, Location: &models.Location{Latitude: 3, Longitude: 4, LivePeriod: 60},
	})
	last := ada.says("the end")
	equalAll(t, "room", st.hears("dev", 4), "Ada: deploy to staging", "Ada: (edited) deploy to production",
		"Ada: (edited) /stop", "Ada: the end")
	st.stop(r)
	st.start()
	st.Edit(ada.dm, last, "after a restart")
	equal(t, "line", st.hears("dev", 5)[4], "Ada: (edited) after a restart")
}

func TestReplies(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	bob := st.User("Bob]x")
	crew := st.crew()
	topic := st.Topic(crew, "builds")
	st.start()
	first := st.Say(crew, bob, "first\nline, and "+strings.Repeat("long ", 40)+"hash=0123456789abcdef")
	ada.says("hello")
	st.hears("dev", 2)
	st.answers("dev", "see hash=0123456789abcdef, it is yours")
	ada.got(1)
	st.Reply(crew, ada.User, first, "what?")
	ada.replies(ada.messages()[0].ID, "no, yours")
	ada.replies(ada.messages()[0].ID, "/stop")
	st.Say(topic, ada.User, "in a topic, no reply")
	st.Send(ada.dm, ada.User, models.Message{Text: "which?", ReplyToMessage: &models.Message{ID: ada.messages()[0].ID},
		Quote: &models.TextQuote{Text: "part"}})
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
	equal(t, "the /stop that replies to something", st.lines("dev")[5].Command, "stop")
}

// Commands, of which only people who are listed give /model in a group.
func TestCommands(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	mal, crew := st.User("Mal"), st.crew()
	topic := st.Topic(crew, "builds")
	st.lets("builds", keyOf(id(crew.ID), topic.Thread))
	st.state("idle")
	st.start()
	for _, text := range []string{
		"/stop@offline_bot", "/stop ", "/Status", "/model  deepseek-chat ", "/model@Offline_Bot x", "/model",
		"/dance@offline_bot now", "/stop now",
		"/stop@other_bot", "/", "//x", "/ stop",
	} {
		st.Say(crew, ada.User, text)
	}
	st.Say(crew, mal, "/model expensive")
	st.Reply(crew, mal, st.Say(crew, mal, "/stop"), "/model expensive")
	heard := st.hears("dev", 14)
	equalAll(t, "room", heard[:11], "Ada: /stop", "Ada: /stop", "Ada: /status", "Ada: /model deepseek-chat", "Ada: /model x",
		"Ada: /model", "Ada: /dance now", "Ada: /stop now", "Ada: /", "Ada: //x", "Ada: / stop")
	for i, want := range map[int]string{3: "model", 11: "", 12: "stop", 13: ""} {
		l := st.lines("dev")[i]
		equal(t, "command of "+l.Text, l.Command, want)
		has(t, "line", l.Text, "/")
	}

	ada.says("/start payload")
	has(t, "start", ada.got(1)[0], "the room dev", "Listening there: lethe.", "/stop")
	st.Say(crew, ada.User, "/id")
	has(t, "id", st.sent(crew, 1)[0], "you: "+id(ada.ID), "this chat: "+id(crew.ID), "Crew")
	st.Say(topic, ada.User, "/id@offline_bot")
	has(t, "id", st.sent(crew, 2)[1], "this topic: "+keyOf(id(crew.ID), topic.Thread), "room: builds")
	equal(t, "topic of the answer", st.Sent(crew)[1].MessageThreadID, topic.Thread)
	st.quiet()
	st.hears("dev", 14)
}

func TestMedia(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	st.start()
	photo := []byte(strings.Repeat("jpeg", 30_000))
	ada.says("look:")
	st.SendPhoto(ada.dm, ada.User, photo, "the *roof*")
	ogg, webp := st.Upload([]byte("ogg"), 0), st.Upload([]byte("RIFF....WEBP"), 0)
	pdf, film := st.Upload([]byte("%PDF"), 0), st.Upload(nil, 700_000_000)
	for _, m := range []models.Message{
		{Voice: &models.Voice{FileID: ogg.FileID, Duration: 7, FileSize: 3}},
		{Document: &models.Document{FileID: pdf.FileID, FileName: "re]port\nhash=0123456789abcdef.pdf",
			MimeType: "application/pdf", FileSize: 4}},
		{Document: &models.Document{FileID: film.FileID, FileName: "film.mkv", MimeType: "video/x-matroska", FileSize: film.FileSize}},
		{Sticker: &models.Sticker{FileID: webp.FileID, Type: "regular", Emoji: "👍", FileSize: 12}},
	} {
		st.Send(ada.dm, ada.User, m)
	}
	got := st.hears("dev", 6)
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
	h, err := st.cfg.Store.Resolve(blobs.Mentions(got[1])[0])
	lethetest.Must(t, err)
	b, err := st.cfg.Store.Get(h)
	lethetest.Must(t, err)
	equal(t, "body", string(b.Body), string(photo))
	equal(t, "gist", b.Gist, "photo (image/jpeg, 120000 bytes) from Ada")
	equal(t, "life", b.Life, "")
	// A message that comes again makes the same blob.
	equal(t, "time", b.At, st.lines("dev")[1].At)

	// While nothing but files comes, the bridge counts as hearing.
	before := st.health().Exchanged
	for range 3 {
		st.SendPhoto(ada.dm, ada.User, photo, "")
	}
	st.hears("dev", 9)
	st.within("an exchange is noted", func() bool { return st.health().Exchanged.After(before) })
}

// The messages of an album are one line, also when they come one by one; what is late is a line of its own.
func TestAlbums(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	album := func(name, caption string) {
		f := st.Upload([]byte(caption+name), 0)
		photo := []models.PhotoSize{{FileID: f.FileID, FileSize: int(f.FileSize)}}
		st.Send(ada.dm, ada.User, models.Message{Photo: photo, Caption: caption, MediaGroupID: name})
	}
	st.start()
	st.ready()
	hold, polls := make(chan struct{}), st.Count("getUpdates")
	st.Fault(botapi.Fault{Method: "getUpdates", Kind: botapi.Slow, Hold: hold})
	album("7", "the roof")
	st.within("the bridge looks for more", func() bool { return st.Count("getUpdates") > polls })
	album("7", "")
	album("7", "from below")
	ada.says("between")
	album("8", "another")
	close(hold)
	const tag = `\[photo image/jpeg \d+ B hash=[0-9a-f]{16}\]`
	is := func(n int, want ...string) {
		t.Helper()
		got := st.hears("dev", n)[n-len(want):]
		for i, w := range want {
			if !regexp.MustCompile("^Ada: " + w + "$").MatchString(got[i]) {
				t.Errorf("line %d is %q, not %s", i, got[i], w)
			}
		}
	}
	is(3, tag+" "+tag+" "+tag+" the roof\nfrom below", "between", tag+" another")
	st.quiet()
	album("7", "late")
	is(4, tag+" late")
	st.Fault(botapi.Fault{Method: "getUpdates", Kind: botapi.Repeat})
	ada.says("end")
	is(5, "end")
	st.quiet()
	is(5, "end")
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
		{"500 for ever", botapi.Fault{Method: "getFile", Status: 500, Times: -1}, "the connection failed|the server answered 500"},
		{"hangs", botapi.Fault{Method: "file", Kind: botapi.Hang, Times: -1}, "it took too long"},
		{"404 of the file", botapi.Fault{Method: "file", Status: 404, Times: -1}, "the server answered 404"},
		{"too big", botapi.Fault{Method: "getFile", Status: 400, Description: "Bad Request: file is too big"}, "larger than"},
		{"refused", botapi.Fault{Method: "getFile", Status: 400, Description: "Bad Request: wrong file_id", Times: -1},
			"the server answered 400"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := newStage(t)
			ada := st.ada()
			if c.fault.Kind == botapi.Hang {
				st.cfg.tune.file = 300 * time.Millisecond
			}
			st.start()
			st.ready()
			st.Fault(c.fault)
			st.SendPhoto(ada.dm, ada.User, []byte("jpeg"), "see")
			ada.says("next")
			got := st.hears("dev", 2)
			if !regexp.MustCompile(`\[photo image/jpeg 4 B.*(` + c.want + `).*\] see`).MatchString(got[0]) {
				t.Errorf("the line is %q, without %s", got[0], c.want)
			}
			equal(t, "next", got[1], "Ada: next")
		})
	}
}

// A disk that takes no file keeps the message with Telegram until it does.
func TestMediaWithoutDisk(t *testing.T) {
	st := stageOf(t, "")
	ada := st.ada()
	disk := newBrokenDisk(t, "blobs")
	st.start()
	st.ready()
	st.SendPhoto(ada.dm, ada.User, []byte("jpeg"), "")
	ada.says("next")
	st.within("it was tried", func() bool { return disk.asked.Load() > 2 })
	st.deaf("no space left")
	if got := st.texts("dev"); len(got) > 0 {
		t.Errorf("lines without a file: %q", got)
	}
	disk.mended.Store(true)
	has(t, "line", st.hears("dev", 2)[0], "hash=")
}
