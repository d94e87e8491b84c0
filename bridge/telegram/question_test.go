package telegram

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"lethe/agent/status"
	"lethe/chat"
	"lethe/internal/test/botapi"
	"lethe/internal/test/lethetest"
)

// asks has an agent of the home have these questions open, and say the one of room in it.
func (st *stage) asks(room string, all ...status.Question) {
	st.t.Helper()
	lethetest.Must(st.t, os.MkdirAll(st.home+"/agents/51c0", 0o700))
	lethetest.Must(st.t, status.Write(st.home+"/agents/51c0",
		status.Status{Name: "lethe", State: status.Stopped, Beside: status.Beside{Questions: all}}))
	for _, q := range all {
		if q.Room == room {
			st.answers(room, q.String())
		}
	}
}

var deploy = status.Question{Question: chat.Question{ID: "q3fa9c1",
	Text: "The tests **pass**. Deploy?\n    command: <!-- rm -r * -->", Options: []string{"yes", "after *lunch*"}}, Room: "dev"}

// labels are the texts of the buttons under a message, a row a string.
func labels(m models.Message) (rows []string) {
	if m.ReplyMarkup == nil {
		return nil
	}
	for _, row := range m.ReplyMarkup.InlineKeyboard {
		var texts []string
		for _, b := range row {
			texts = append(texts, b.Text)
		}
		rows = append(rows, strings.Join(texts, " | "))
	}
	return rows
}

// bare waits until a message has no buttons any more.
func (st *stage) bare(where botapi.Chat, i int) {
	st.t.Helper()
	st.within("the buttons are gone", func() bool { return st.Sent(where)[i].ReplyMarkup == nil })
}

// told waits for n buttons to be acknowledged, and returns the words of the last.
func (st *stage) told(n int) string {
	st.t.Helper()
	st.within("buttons are acknowledged", func() bool { return st.Count("answerCallbackQuery") >= n })
	var last botapi.Call
	for _, c := range st.Calls() {
		if c.Method == "answerCallbackQuery" {
			last = c
		}
	}
	return last.Params["text"]
}

// A question has a button for each option, and one press is one line, however often Telegram tells
// of it; then the buttons go.
func TestButtons(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	st.lets("", id(ada.ID)+" ada")
	st.cfg.People = []string{"ada"}
	ada.greets()
	st.asks("dev", deploy)
	equal(t, "the question", ada.got(1)[0],
		"lethe asks:\n\nThe tests **pass**. Deploy?\n    command: <!-- rm -r * -->\n\nPress a button, or write: q3fa9c1 yes. (q3fa9c1)")
	equal(t, "marks", len(ada.messages()[0].Entities), 0)
	m := ada.messages()[0]
	equalAll(t, "buttons", labels(m), "yes | after *lunch*")
	st.Press(ada.dm, ada.User, m.ID, "after *lunch*")
	st.Fault(botapi.Fault{Method: "getUpdates", Kind: botapi.Repeat, Times: 2})
	equal(t, "the line", st.hears("dev", 3)[2], "ada: q3fa9c1 after *lunch*")
	st.bare(ada.dm, 0)
	equal(t, "told", st.told(1), "after *lunch*")
	st.within("the repetitions have come", func() bool { return st.FaultsLeft() == 0 })
	st.quiet()
	st.hears("dev", 3)

	// What cannot be meant any more is said, and is no line.
	st.PressOld(ada.dm, ada.User, m.ID, "q3fa9c1 3")
	equal(t, "no such option", st.told(2), "The question has no such option.")
	st.asks("ops")
	st.PressOld(ada.dm, ada.User, m.ID, "q3fa9c1 1")
	equal(t, "answered meanwhile", st.told(3), "This question is no longer open.")
	for _, data := range []string{"", "q3fa9c1", "/stop", "q3fa9c1 1 1"} {
		st.PressOld(ada.dm, ada.User, m.ID, data)
	}
	st.told(7)
	st.hears("dev", 3)
}

// The same people press who may write, and only those the question is for.
func TestWhoPresses(t *testing.T) {
	st := newStage(t)
	crew, ada, eve := st.crew(), st.User("Ada"), st.User("Eve")
	st.lets("", id(ada.ID)+" ada")
	st.cfg.People = []string{"grace"}
	st.greeted(crew, ada)
	forAda := deploy
	forAda.For = []string{"ada"}
	st.asks("dev", forAda, status.Question{Question: chat.Question{ID: "qffffff", Text: "Restart?", Options: []string{"yes"}}, Room: "ops"})
	st.sent(crew, 1)
	m := st.Sent(crew)[0]
	st.Press(crew, eve, m.ID, "yes")
	equal(t, "somebody else", st.told(1), "Only these may answer: ada")
	st.PressOld(crew, ada, m.ID, "qffffff 1") // of a room that this chat does not hear
	equal(t, "of another room", st.told(2), "This question is no longer open.")
	st.hears("dev", 2)
	st.asks("", forAda, deploy)
	st.PressOld(crew, ada, m.ID, "q3fa9c1 1")
	equal(t, "the line", st.hears("dev", 3)[2], "ada: q3fa9c1 yes")

	lost := st.Group(models.ChatTypeSupergroup, "Strangers")
	st.PressOld(lost, ada, 7, "q3fa9c1 1")
	st.quiet()
	st.told(3) // the third comes beside the line
	equal(t, "acknowledged", st.Count("answerCallbackQuery"), 3)
	st.hears("dev", 3)
}

// A reply to a question answers it, without a quotation in the way; other talk stays talk.
func TestReplyToQuestion(t *testing.T) {
	st, ada := greeted(t)
	free := status.Question{Question: chat.Question{ID: "q0000aa", Text: "Which host?", Until: time.Now().Add(time.Hour)}, Room: "dev"}
	st.asks("dev", deploy, free)
	got := ada.got(2)
	has(t, "the question", got[1], "Which host?\n\nReply to this message to answer. Until", "UTC. (q0000aa)")
	equal(t, "buttons", ada.messages()[1].ReplyMarkup, nil)
	for i, c := range []struct {
		to         int
		says, line string
	}{
		{1, "the second one", "q0000aa the second one"},
		{0, "Yes.", "q3fa9c1 Yes."},
		{0, "why?", "> lethe asks: The tests **pass**. Deploy?"},
		{0, "q0000aa that", "q0000aa that"},
	} {
		ada.replies(ada.messages()[c.to].ID, c.says)
		has(t, "the line", st.hears("dev", 4+i)[3+i], ": "+c.line)
	}

	st.answers("dev", "lethe asks:\n\nTea?\n\nPress a button, or write: yes. (q3fa9c1)") // an agent's words
	ada.got(3)
	ada.replies(ada.messages()[2].ID, "yes")
	has(t, "no answer", st.hears("dev", 9)[8], ": > lethe asks: Tea?")
	long := free
	long.Text = strings.Repeat("a long word ", 600)
	st.asks("dev", long)
	ada.got(5)
	ada.replies(ada.messages()[4].ID, "it")
	has(t, "of a long one", st.hears("dev", 11)[10], ": q0000aa it")
}

// Notices go to the private chat of their person, once; an answer there reaches the room of the
// question.
func TestNotices(t *testing.T) {
	st := newStage(t)
	ada := st.ada()
	st.lets("", id(ada.ID)+" Ada")
	st.cfg.Notify, st.cfg.People = []string{"ada", "bob"}, []string{"Ada"}
	r := ada.greets()
	ops := deploy
	ops.Room = "ops"
	st.asks("", ops)
	for _, text := range []string{
		chat.Notice("ops", ops.String()),
		chat.Notice("dev", "this chat hears that room"),
		chat.Notice("ops", "The model *refuses*."),
		chat.Notice("", "(ops) ? q3fa9c1: forged?\n1) yes"),
	} {
		st.answers("notify-ada", text)
	}
	equalAll(t, "notices", ada.got(3),
		"lethe asks in ops:\n\nThe tests **pass**. Deploy?\n    command: <!-- rm -r * -->\n\nPress a button, or write: q3fa9c1 yes. (q3fa9c1)",
		"lethe in ops:\n\nThe model refuses.",
		"lethe:\n\n(ops) ? q3fa9c1: forged?\n1) yes")
	sent := ada.messages()
	equalAll(t, "buttons", labels(sent[2]))
	st.Press(ada.dm, ada.User, sent[0].ID, "yes")
	equal(t, "the answer", st.hears("ops", 1)[0], "Ada: q3fa9c1 yes")
	ada.says("q3fa9c1 2")
	equal(t, "typed", st.hears("ops", 2)[1], "Ada: q3fa9c1 2")
	ada.says("how are you?")
	st.hears("dev", 2)
	st.answers("dev", "well")
	ada.got(4)

	lethetest.Must(t, st.stop(r))
	st.answers("notify-ada", "said while the bridge was away")
	st.start()
	has(t, "afterwards", ada.got(5)[4], "said while the bridge was away")
}

// Somebody who has never written to the bot gets the notices that wait once they do.
func TestNoticesWaitForStart(t *testing.T) {
	st := newStage(t)
	ada := st.User("Ada")
	st.lets("", id(ada.ID)+" ada")
	st.cfg.Notify = []string{"ada"}
	st.start()
	st.ready()
	st.answers("notify-ada", "the disk is full")
	st.within("the chat is unknown", func() bool { return st.Count("sendMessage") > 0 })
	dm := st.Private(ada)
	st.Say(dm, ada, "/start")
	st.within("both are there", func() bool { return len(st.Texts(dm)) == 2 })
	has(t, "messages", strings.Join(st.Texts(dm), "\n"), "the disk is full", "goes to the room dev")
}

func TestKeyboard(t *testing.T) {
	many := []string{"a", "b", "c", "d", "e", "f", "g", strings.Repeat("ö", 200)}
	rows := buttons("q3fa9c1", many)
	if len(rows) != 8 || rows[7][0].Data != "q3fa9c1 8" || len([]rune(rows[7][0].Text)) > 44 {
		t.Errorf("%+v", rows)
	}
	has(t, "a long option", asks("lethe", "", chat.Question{ID: "q3fa9c1", Text: "Which?", Options: many}), "8. "+many[7])
}

// A question whose buttons Telegram refuses is asked without them.
func TestRefusedButtons(t *testing.T) {
	st, ada := greeted(t)
	st.Fault(botapi.Fault{Method: "sendMessage", Status: 400, Description: "Bad Request: BUTTON_DATA_INVALID"})
	st.asks("dev", deploy)
	lethetest.Words(t, ada.got(1)[0], "Deploy?", "write: q3fa9c1 yes")
}
