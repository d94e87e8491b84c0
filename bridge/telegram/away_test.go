package telegram

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"lethe/bridge/access"
	"lethe/internal/botapi"
	"lethe/internal/durable"
)

// What takes somebody away counts when it was the same for as long as a missing file
// has; what adds somebody, at the second reading.
func TestSettingsGrace(t *testing.T) {
	const missing = 5 * twice
	ada := Config{Users: []string{"7 ada"}, Room: "dev"}
	for _, c := range []struct {
		what     string
		from, to Config
		err      error
		want     time.Duration
	}{
		{what: "a user more", from: ada, to: Config{Users: []string{"8", "7 Ada"}, Room: "dev"}, want: twice},
		{what: "another room", from: ada, to: Config{Users: ada.Users, Room: "ops"}, want: twice},
		{what: "a user less", from: Config{Users: []string{"7", "8"}}, to: ada, want: missing},
		{what: "a chat less", from: Config{Users: ada.Users, Chats: []string{"-5"}}, to: ada, want: missing},
		{what: "listed members", from: Config{Chats: []string{"-5"}}, to: Config{Chats: []string{"-5"}, Members: access.MembersListed}, want: missing},
		{what: "all members", from: Config{Chats: []string{"-5"}, Members: access.MembersListed}, to: Config{Chats: []string{"-5"}, Members: access.MembersAll}, want: twice},
		{what: "a route less", from: Config{Users: ada.Users, Routes: []Route{{"7", 0, "ops"}}}, to: ada, want: missing},
		{what: "an empty file", from: Config{Room: "ops"}, to: Config{Room: "dev"}, want: missing},
		{what: "no file", from: Config{Room: "ops"}, err: fs.ErrNotExist, want: missing},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, botapi.Options{})
			st.cfg.tune.missing = missing
			file := &changeable{}
			file.set(says(c.to))
			if c.err != nil {
				file.set(fails(c.err))
			}
			st.cfg = st.cfg.with(c.from.live())
			st.cfg.Reload = file.reload
			s, hub := st.session()
			defer hub.Close()
			c.to.Home = st.home
			began := time.Now()
			st.within("it is in force", func() bool {
				again := s.refresh(0)
				live, _ := c.to.Obeys()
				if live == again {
					t.Errorf("in force: %v; to be looked at again: %v", live, again)
				}
				return live
			})
			if took := time.Since(began); took < c.want {
				t.Errorf("it took %s, less than %s", took, c.want)
			}
			if c.want == twice && strings.Contains(st.log.String(), errChanging.Error()) {
				t.Errorf("log:\n%s", st.log)
			}
		})
	}
}

// A file that is emptied, and written a while later, costs nobody his place or his words.
func TestSlowWriteOfSettings(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.cfg.tune.missing = time.Minute
	now, file := Config{Users: st.cfg.Users}, &changeable{}
	file.set(says(now))
	st.cfg.Reload, st.cfg.SettingsFile = file.reload, filepath.Join(st.home, "config.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(st.cfg.SettingsFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("users")
	st.greeted(dm, ada)
	st.quiet()
	looked := make(chan struct{}, 100)
	file.set(func() (Config, error) { looked <- struct{}{}; return Config{}, nil })
	write("")
	<-looked
	time.Sleep(2 * twice) // the second reading may come now
	st.Say(dm, ada, "do you hear me?")
	equal(t, "heard", st.hears("dev", 2)[1], "Ada: do you hear me?")
	file.set(says(now))
	write("users again")
	st.answers("dev", "the answer")
	equalAll(t, "chat", st.sent(dm, 1), "the answer")
	st.well()
}

// A file that is away when the bridge starts, and back a little later, costs nobody
// his place either; one that stays away lists nobody.
func TestSettingsAreAwayAtStart(t *testing.T) {
	for _, c := range []struct {
		what    string
		missing time.Duration
		back    bool
	}{{"is back", time.Minute, true}, {"comes back", time.Minute, false}, {"stays away", 300 * time.Millisecond, false}} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, botapi.Options{})
			ada, dm := st.ada()
			st.cfg.tune.missing = c.missing
			now, file := Config{Users: st.cfg.Users}, &changeable{}
			file.set(says(now))
			st.cfg.Reload = file.reload
			if err := st.stop(st.greeted(dm, ada)); err != nil {
				t.Fatal(err)
			}
			st.answers("dev", "said meanwhile")
			st.cfg.Users = nil // what a missing file lists
			looked := make(chan struct{}, 10000)
			if !c.back {
				file.set(func() (Config, error) { looked <- struct{}{}; return Config{}, fs.ErrNotExist })
			}
			st.start()
			st.Say(dm, ada, "hello again")
			if c.what == "stays away" {
				st.within("she is forgotten", func() bool { _, err := os.Stat(st.file("peers/" + id(ada.ID) + ".json")); return os.IsNotExist(err) })
				has(t, "she is a stranger", st.sent(dm, 1)[0], "allow ")
				live, _ := Config{Home: st.home}.Obeys()
				equal(t, "that is in force", live, true)
				return
			}
			if !c.back {
				<-looked
				<-looked
				file.set(says(now))
			}
			equalAll(t, "chat", st.sent(dm, 1), "said meanwhile")
			equal(t, "heard", st.hears("dev", 3)[2], "Ada: hello again")
			st.well()
		})
	}
}

// A look that is due at changed settings is not lost to who waits for the peers.
func TestLookIsDue(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	_, _ = st.ada()
	st.cfg.tune.missing = 500 * time.Millisecond
	file := &changeable{}
	file.set(says(Config{Users: st.cfg.Users}))
	st.cfg.Reload = file.reload
	s, hub := st.session()
	defer hub.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.deliver(ctx) }()
	defer func() { cancel(); <-ended }()
	looked := make(chan struct{}, 100)
	if err := s.reconciled(ctx); err != nil {
		t.Fatal(err)
	}
	file.set(func() (Config, error) { looked <- struct{}{}; return Config{}, fs.ErrNotExist })
	s.changed()
	<-looked
	for range 3 {
		if err := s.reconciled(ctx); err != nil {
			t.Fatal(err)
		}
	}
	st.within("they are gone", func() bool { live, _ := Config{Home: st.home}.Obeys(); return live })
}

// Settings that never stay the same hold nobody up, and a pipe in their place does not
// either.
func TestSettingsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	st := newStage(t, botapi.Options{})
	var n atomic.Int64
	st.cfg.Reload = func() (Config, error) { return Config{Room: "r" + id(n.Add(1))}, nil }
	s, hub := st.session()
	defer hub.Close()
	synctest.Test(t, func(t *testing.T) {
		go s.refresh(0)
		synctest.Wait()
		if !s.settings.mu.TryLock() {
			t.Fatal("it holds the lock while it waits")
		}
		equal(t, "readings", n.Load(), 1)
		s.settings.mu.Unlock()
		time.Sleep(readings * twice)
		equal(t, "readings", n.Load(), readings)
		has(t, "log", st.log.String(), errChanging.Error())
		began := time.Now()
		equal(t, "to be looked at again", s.refresh(time.Nanosecond), true)
		equal(t, "it took", time.Since(began), 0)
	})
	s.cfg.SettingsFile = filepath.Join(st.home, "config.toml")
	if err := syscall.Mkfifo(s.cfg.SettingsFile, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.reread(); !errors.Is(err, durable.ErrNotRegular) {
		t.Errorf("a pipe: %v", err)
	}
}

// A chat that cannot be forgotten is, as soon as it can; until then Health says so.
func TestForgetAgain(t *testing.T) {
	st := newStage(t, botapi.Options{})
	ada, dm := st.ada()
	st.cfg.tune.missing = 20 * time.Millisecond
	if err := st.stop(st.greeted(dm, ada)); err != nil {
		t.Fatal(err)
	}
	disk := newBrokenDisk(t, id(ada.ID)+".json")
	st.cfg.Users = nil
	st.start()
	st.within("it is tried again", func() bool { return disk.asked.Load() > 4 })
	has(t, "health", st.health().Error, "forget chats", "no space")
	if n := strings.Count(st.log.String(), "no space"); n != 1 {
		t.Errorf("it is told %d times:\n%s", n, st.log)
	}
	disk.mended.Store(true)
	st.within("it is forgotten", func() bool { _, err := os.Stat(st.file("peers/" + id(ada.ID) + ".json")); return os.IsNotExist(err) })
}
