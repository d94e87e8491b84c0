package telegram

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/agent/home"
	"lethe/bridge/access"
	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// A person who may not read the room of a private chat has a room alone: no line of it goes to others. A stranger makes
// no room.
func TestPrivateChatsApart(t *testing.T) {
	st := newStage(t)
	lethetest.Must(t, chat.About{Readers: []string{"owner"}}.Write(st.home, "dev"))
	ada, bob := st.ada(), st.User("Bob")
	st.lets("", id(bob.ID)+" bob")
	st.start()
	ada.says("hello")
	st.Say(st.Private(bob), bob, "hello")
	own, bobs := "telegram-"+id(ada.ID), "telegram-"+id(bob.ID)
	for room, readers := range map[string]string{own: id(ada.ID), bobs: "bob"} {
		st.within("the line is in "+room, func() bool {
			text, _ := os.ReadFile(chat.Path(st.home, room))
			return strings.Contains(string(text), "hello")
		})
		equal(t, "readers", home.Home{Dir: st.home}.Readers(room).String(), readers)
	}
	st.answers("dev", "for the owner alone")
	st.answers(bobs, "for bob")
	st.answers(own, "for ada")
	equalAll(t, "chat", ada.got(1), "for ada")
	unlisted := &session{cfg: st.cfg, chats: &chats{}}
	unlisted.cfg.Home, unlisted.cfg.Room = st.home, "dev"
	stranger := unlisted.room("99", access.Rules{})
	if _, err := os.Stat(filepath.Join(st.home, "chats", "telegram-99.toml")); stranger != "dev" || err == nil {
		t.Errorf("a stranger has the room %q", stranger)
	}
}

// Readers that a person has named for the room of a private chat stay.
func TestReadersOfAPrivateChatStay(t *testing.T) {
	st := newStage(t)
	lethetest.Must(t, chat.About{Readers: []string{"owner"}}.Write(st.home, "dev"))
	ada := st.ada()
	own, both := "telegram-"+id(ada.ID), []string{id(ada.ID), "owner"}
	lethetest.Must(t, chat.About{Readers: both}.Write(st.home, own))
	st.start()
	ada.says("hello")
	st.hears(own, 1)
	equalAll(t, "readers", home.Home{Dir: st.home}.Readers(own), both...)
}
