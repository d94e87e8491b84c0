package telegram

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lethe/bridge"
	"lethe/internal/botapi"
)

// changeable is a configuration that a test changes.
type changeable struct {
	mu   sync.Mutex
	read []func() (Config, error) // one a reading; the last one stays
}

func (c *changeable) set(readings ...func() (Config, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = readings
}

func (c *changeable) reload() (Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.read[0]
	if len(c.read) > 1 {
		c.read = c.read[1:]
	}
	return now()
}

func says(c Config) func() (Config, error) { return func() (Config, error) { return c, nil } }

func fails(err error) func() (Config, error) {
	return func() (Config, error) { return Config{}, err }
}

// Who is taken off the list is not heard any more, and who is put on it is; without a
// restart, and not by half.
func TestSettingsChange(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	eve := st.User("Eve", "eve")
	theirs := st.Private(eve)
	before := Config{Users: []string{id(ada.ID), id(eve.ID)}}
	file := &changeable{}
	file.set(says(before))
	st.cfg.Users, st.cfg.Reload, st.cfg.tune.missing = before.Users, file.reload, 500*time.Millisecond
	st.cfg.SettingsFile = filepath.Join(st.home, "config.toml")
	if err := os.WriteFile(st.cfg.SettingsFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	st.start()
	st.Say(theirs, eve, "one")
	st.hears("dev", 1)

	// An editor leaves the file empty for a moment: nobody is taken off by that.
	file.set(says(Config{}), says(before))
	st.Say(theirs, eve, "two")
	st.hears("dev", 2)
	if strings.Contains(st.log.String(), "takes up changed settings") {
		t.Errorf("half a file is taken up:\n%s", st.log)
	}
	// What makes no sense changes nothing, and is told once.
	file.set(fails(errors.New("line 7 makes no sense")))
	for i := range 3 {
		st.Say(theirs, eve, fmt.Sprint("still ", i))
		st.hears("dev", 3+i)
	}
	file.set(says(Config{Users: []string{"5 ada", "6 ada"}}))
	st.Say(theirs, eve, "and now?")
	st.hears("dev", 6)
	st.within("health tells", func() bool { return strings.Contains(st.health().Error, takeUp) })
	if n := strings.Count(st.log.String(), "line 7 makes no sense"); n != 1 {
		t.Errorf("it is told %d times:\n%s", n, st.log)
	}

	only := Config{Users: []string{id(ada.ID)}, Routes: []Route{{Chat: id(dm.ID), Room: "ops"}}}
	only.Home = st.home
	file.set(says(only))
	if err := os.WriteFile(st.cfg.SettingsFile, []byte(" "), 0o600); err != nil {
		t.Fatal(err)
	}
	st.within("eve is off", func() bool { live, _ := only.Obeys(); return live })
	st.Say(theirs, eve, "not for you")
	st.Say(dm, ada, "in another room")
	equalAll(t, "ops", st.hears("ops", 1), "Ada: in another room")
	has(t, "eve is a stranger", st.sent(theirs, 1)[0], "allow ")
	st.hears("dev", 6)
	st.answers("ops", "heard")
	equalAll(t, "answer", st.sent(dm, 1), "heard")

	before.Home = st.home
	if live, _ := before.Obeys(); live {
		t.Error("older settings are said to be in force")
	}
	only.BaseURL = st.cfg.BaseURL
	if _, fixed := only.Obeys(); !fixed {
		t.Error("the server is another")
	}
	only.Flood.User = bridge.Rate{Lines: 1, Per: time.Second}
	if _, fixed := only.Obeys(); fixed {
		t.Error("other flood limits are said to be in force")
	}

	// A file that is gone for good lists nobody.
	file.set(fails(fs.ErrNotExist))
	st.Say(dm, ada, "for a moment")
	st.hears("ops", 3)
	if err := os.Remove(st.cfg.SettingsFile); err != nil { // the bridge hears of it by itself
		t.Fatal(err)
	}
	st.within("none are in force", func() bool { live, _ := Config{Home: st.home}.Obeys(); return live })
	st.Say(dm, ada, "for good")
	st.sent(dm, 2)
	st.hears("ops", 3)
	st.well()
}

// A line that waits is held against the newest settings.
func TestSettingsChangeWhileLinesWait(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	file := &changeable{}
	file.set(says(Config{Users: []string{"7"}}))
	st.cfg.Users, st.cfg.Reload = []string{"7"}, file.reload
	s, hub := st.session()
	defer hub.Close()
	if ok, err := s.allowed(bridge.Message{Key: "7", Peer: "7"}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	file.set(says(Config{}))
	st.within("he is not allowed", func() bool {
		ok, err := s.allowed(bridge.Message{Key: "7", Peer: "7"})
		return !ok && err == nil
	})
}

// Ids that could match nobody are refused, and errors name what is wrong.
func TestCheckIDs(t *testing.T) {
	for _, c := range []struct {
		c    Config
		want string
	}{
		{Config{Users: []string{"01 ada"}}, "01 ada"},
		{Config{Users: []string{"+5000000001 ada"}}, "zeros"},
		{Config{Users: []string{"0"}}, "users"},
		{Config{Chats: []string{"-05"}}, "-05"},
		{Config{Routes: []Route{{Chat: "+5", Room: "dev"}}}, "id is a number"},
		{Config{Routes: []Route{{Chat: "-5", Topic: -3, Room: "dev"}}}, "topics have numbers from 1 on"},
		{Config{Routes: []Route{{Chat: "-5", Topic: 1, Room: "dev"}, {Chat: "-5", Topic: 1, Room: "ops"}}}, "which topic = 1 means too"},
	} {
		err := c.c.Check()
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "topic 0") {
			t.Errorf("%+v: %v", c.c, err)
		}
	}
	good := Config{Users: []string{"5 ada", "-1001 crew"}, Chats: []string{"-1002"}, Routes: []Route{{Chat: "-1002", Topic: 1, Room: "dev"}}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}
