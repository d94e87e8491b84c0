//go:build unix

package main_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"
	"github.com/rogpeppe/go-internal/testscript"

	"lethe/internal/test/botapi"
)

// Commands of scripts about Telegram, beside those of scriptCommands:
//
//	botapi                      a Bot API server, with its token in the environment and its address in config.toml
//	tg say USER TEXT            somebody writes to the bot
//	tg photo USER FILE          somebody sends the bot a photo
//	tg gets USER REGEXP [N]     wait until the bot has sent them N (1) messages that match
//	tg capture VAR USER REGEXP  the same, and keep the first group
//	tg press USER BUTTON        somebody presses a button under the newest message that has it
//	tg well                     the bot did nothing that a bot must not do
func init() {
	scriptCommands["botapi"] = atLeast(0, scriptBotAPI)
	scriptCommands["tg"] = atLeast(1, scriptTelegram)
}

type botKey struct{}

// botServer is the server of a script, with the people that it names.
type botServer struct {
	*botapi.Server
	people map[string]models.User
}

// dm is somebody's private chat with the bot.
func (b *botServer) dm(name string) (botapi.Chat, models.User) {
	u, known := b.people[name]
	if !known {
		u = b.User(name)
		b.people[name] = u
	}
	return b.Private(u), u
}

func scriptBotAPI(ts *testscript.TestScript, _ []string) {
	s := botapi.New("")
	url, end := s.Start()
	ts.Defer(end)
	*ts.Value(botKey{}).(*botServer) = botServer{s, map[string]models.User{}}
	ts.Check(os.MkdirAll(ts.MkAbs("home"), 0o700))
	scriptPut(ts, []string{"home/config.toml", fmt.Sprintf("[telegram]\nbase_url = %q", url)})
	ts.Setenv("TELEGRAM_BOT_TOKEN", s.Token())
}

func scriptTelegram(ts *testscript.TestScript, args []string) {
	s := ts.Value(botKey{}).(*botServer)
	if s.Server == nil {
		ts.Fatalf("no botapi")
	}
	rest := args[1:]
	switch args[0] {
	case "say":
		need(ts, rest, 2)
		chat, u := s.dm(rest[0])
		s.Say(chat, u, rest[1])
	case "photo":
		need(ts, rest, 2)
		chat, u := s.dm(rest[0])
		s.SendPhoto(chat, u, []byte(ts.ReadFile(rest[1])), "what is this?")
	case "gets":
		need(ts, rest, 2)
		n := 1
		if len(rest) > 2 {
			n = atoi(ts, rest[2])
		}
		awaitSent(ts, s, rest[0], rest[1], n)
	case "capture":
		need(ts, rest, 3)
		ts.Setenv(rest[0], awaitSent(ts, s, rest[1], rest[2], 1)[1])
	case "press":
		need(ts, rest, 2)
		chat, u := s.dm(rest[0])
		sent := s.Sent(chat)
		i := len(sent) - 1
		for i >= 0 && !strings.Contains(fmt.Sprint(labels(sent[i])), rest[1]) {
			i--
		}
		if i < 0 {
			ts.Fatalf("%s has no button %s", rest[0], rest[1])
		}
		s.Press(chat, u, sent[i].ID, rest[1])
	case "well":
		if v := s.Violations(); len(v) > 0 {
			ts.Fatalf("the bot must not: %s", strings.Join(v, "; "))
		}
	default:
		ts.Fatalf("no command tg %s", args[0])
	}
}

// labels are the texts of the buttons under a message.
func labels(m models.Message) (all []string) {
	if m.ReplyMarkup != nil {
		for _, row := range m.ReplyMarkup.InlineKeyboard {
			for _, b := range row {
				all = append(all, b.Text)
			}
		}
	}
	return all
}

func atoi(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}

// awaitSent waits until the bot has sent n messages that match to somebody, and
// returns the groups of the last.
func awaitSent(ts *testscript.TestScript, s *botServer, user, pattern string, n int) []string {
	re, err := regexp.Compile(pattern)
	ts.Check(err)
	dm, _ := s.dm(user)
	var found []string
	waitFor(ts, s, func() bool {
		count := 0
		for _, m := range s.Sent(dm) {
			text := m.Text
			if d := m.Document; d != nil {
				text = fmt.Sprintf("document %s %q %s", d.FileName, s.Data(d.FileID), m.Caption)
			}
			if groups := re.FindStringSubmatch(text); groups != nil {
				count++
				found = groups
			}
		}
		return count >= n
	}, fmt.Sprintf("%s got nothing like %s", user, pattern))
	return found
}

func waitFor(ts *testscript.TestScript, s *botServer, ok func() bool, what string) {
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(3 * time.Millisecond) {
		if time.Now().After(deadline) {
			calls := s.Calls()
			ts.Fatalf("%s; the last calls: %v", what, calls[max(0, len(calls)-20):])
		}
	}
}
