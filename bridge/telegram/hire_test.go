package telegram

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-telegram/bot/models"

	"lethe/agent/home"
	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// hires has chats name roles, and returns a function that lists who was hired. For whom no says, nobody can be hired.
func (st *stage) hires(roles map[string]string, no string) func() []string {
	var mu sync.Mutex
	var all []string
	st.cfg.Roles = roles
	st.cfg.Hire = func(room string, work home.Hired) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, room+" as "+work.String())
		if slices.Contains(work.For, no) {
			return errors.New("there is no place left")
		}
		return nil
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// A private chat, a group and a topic have lives of their own by their roles, each in a room that nobody else may read;
// whoever is not listed has none.
func TestRoles(t *testing.T) {
	st := newStage(t)
	ada, bob, mal := st.ada(), st.User("Bob"), st.User("Mallory")
	crew := st.crew()
	other := st.Group(models.ChatTypeGroup, "Other")
	builds := st.Topic(crew, "Builds")
	group, topic := id(crew.ID), id(crew.ID)+"."+strconv.Itoa(builds.Thread)
	st.lets("", id(bob.ID)+" Bob", topic)
	hired := st.hires(map[string]string{everyPrivate: "nurse", group: "scribe", topic: "clerk", id(other.ID): "scribe"}, "")
	st.start()
	st.Say(other, ada.User, "hello")
	st.Say(st.Private(mal), mal, "hello")
	ada.says("/id")
	st.quiet()
	if got := hired(); got != nil {
		t.Errorf("hired for strangers, and for /id: %q", got)
	}
	for _, room := range []string{"telegram-" + id(mal.ID), "telegram-" + id(other.ID)} {
		if files, _ := os.ReadDir(chat.Dir(st.home)); slices.ContainsFunc(files, func(f os.DirEntry) bool {
			return strings.HasPrefix(f.Name(), room)
		}) {
			t.Errorf("a stranger has room %s", room)
		}
	}
	ada.says("hello")
	ada.says("hello again")
	st.Say(st.Private(bob), bob, "hello")
	st.Say(crew, mal, "hello")
	st.Say(builds, mal, "a build")
	st.within("four lives are hired", func() bool { return len(hired()) == 4 })
	st.quiet()
	who := "telegram:" + group
	equalAll(t, "hired", hired(),
		"telegram-"+id(ada.ID)+" as nurse for "+id(ada.ID),
		"telegram-"+id(bob.ID)+" as nurse for Bob",
		"telegram-"+group+" as scribe for "+who,
		"telegram-"+strings.ReplaceAll(topic, ".", "-")+
			" as clerk for telegram:"+topic)
	equalAll(t, "room", st.texts("telegram-"+group), "Mallory-"+id(mal.ID)+": hello")
	equal(t, "readers", home.Home{Dir: st.home}.Readers("telegram-"+group).String(), who)
	lethetest.Must(t, chat.About{Readers: []string{who, "bob"}}.Write(st.home, "telegram-"+group))
	st.Say(crew, mal, "bye")
	st.hears("telegram-"+group, 2)
	if got := (home.Home{Dir: st.home}).Readers("telegram-" + group); !got.Has("bob") {
		t.Errorf("people's readers of the group are gone: %s", got)
	}
}

// A room that the owner gave is kept where it is the chat's alone.
func TestRoleInAGivenRoom(t *testing.T) {
	st := newStage(t)
	ada, bob := st.User("Ada"), st.User("Bob")
	st.lets("own", id(ada.ID)+" ada")
	st.lets("shared", id(bob.ID)+" bob")
	lethetest.Must(t, chat.About{Readers: []string{"Ada"}}.Write(st.home, "own"))
	hired := st.hires(map[string]string{everyPrivate: "nurse"}, "bob")
	st.start()
	st.Say(st.Private(ada), ada, "hello")
	st.Say(st.Private(bob), bob, "hello")
	st.Say(st.Private(bob), bob, "hello?")
	st.hears("own", 1)
	st.within("it is tried for each line", func() bool { return len(hired()) == 3 })
	bobs := "telegram-" + id(bob.ID) + " as nurse for bob"
	equalAll(t, "hired", hired(), "own as nurse for Ada", bobs, bobs)
	st.within("health tells", func() bool {
		return strings.Contains(st.health().Error, "hire a life for chat "+id(bob.ID)+": there is no place left")
	})
}
