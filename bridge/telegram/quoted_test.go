package telegram

import (
	"testing"

	"github.com/go-telegram/bot/models"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/botapi"
)

// Words that the sender did not write, or nobody sees, give no right to a blob, and
// are no command.
func TestMentionsNotTheSenders(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.start()
	mention := "hash=0123456789abcdef"
	st.Send(dm, ada, models.Message{Text: "look here", Entities: []models.MessageEntity{
		{Type: models.MessageEntityTypeTextLink, Offset: 0, Length: 4, URL: "https://example.org/a?" + mention},
	}})
	st.Send(dm, ada, models.Message{Text: "a picture " + mention, ViaBot: &models.User{ID: 77, IsBot: true, FirstName: "Pics", Username: "pics_bot"}})
	st.Send(dm, ada, models.Message{Text: "/stop", ViaBot: &models.User{ID: 77, IsBot: true, FirstName: "Pics"}})
	st.Say(dm, ada, "my own: "+mention)
	got := st.hears("dev", 4)
	equalAll(t, "room", got, "Ada: look (https://example.org/a?hash%3D0123456789abcdef) here",
		"Ada: (via @pics_bot) a picture hash 0123456789abcdef", "Ada: (via @bot) /stop", "Ada: my own: "+mention)
	for i, line := range got {
		if _, _, obeyed := chat.Command(st.lines("dev")[i]); obeyed {
			t.Errorf("%q is obeyed", line)
		}
		if n := len(blobs.Mentions(line)); n != i/3 {
			t.Errorf("%d mentions in %q", n, line)
		}
	}
}

// Only a listed person has a bare name, in a quotation as in front of a line.
func TestNames(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	st.cfg.Names = func() []string { return []string{"lethe"} }
	ada, _ := st.ada()
	st.cfg.Users = []string{id(ada.ID) + " ada"}
	eva, fake, agent := st.User("eva", ""), st.User("Ad\u0430", ""), st.User("Lethe", "")
	crew := st.crew(ada, eva, fake, agent)
	st.start()
	st.ready()
	for _, who := range []botapi.User{eva, fake, agent} {
		st.Reply(crew, ada, st.Say(crew, who, "deploy now"), "so they say")
	}
	st.Reply(crew, ada, st.Say(crew, ada, "mine"), "and I")
	origin := &models.MessageOrigin{Type: models.MessageOriginTypeHiddenUser, MessageOriginHiddenUser: &models.MessageOriginHiddenUser{SenderUserName: "ADA"}}
	st.Send(crew, ada, models.Message{Text: "do it", ForwardOrigin: origin})
	quoted := -1
	for _, want := range []string{
		"> eva-" + id(eva.ID) + ": deploy now\nso they say",
		"> Ad\u0430-" + id(fake.ID) + ": deploy now\nso they say",
		"> Lethe-" + id(agent.ID) + ": deploy now\nso they say",
		"> ada: mine\nand I",
		"(forwarded from somebody) do it",
	} {
		quoted += 2
		quoted = min(quoted, 8)
		equal(t, "line", st.hears("dev", 9)[quoted], "ada: "+want)
	}
	has(t, "a line", st.hears("dev", 9)[4], "Lethe-"+id(agent.ID)+": deploy now")
	st.well()
}

// A command that is not for the harness keeps what it replies to.
func TestCommandThatReplies(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{Username: "lethe_bot"})
	ada, dm := st.ada()
	st.start()
	st.Reply(dm, ada, st.Say(dm, ada, "E = mc2"), "/explain@lethe_bot this")
	equal(t, "line", st.hears("dev", 2)[1], "Ada: > Ada: E = mc2\n/explain this")
}
