package telegram

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/blake3"

	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/internal/durable"
)

// live are the settings that change while the bridge runs.
type live struct {
	Room, Members, Relay string
	Users, Chats         []string
	Routes               []Route
}

func (c Config) live() live {
	return live{c.Room, c.Members, c.Relay, c.Users, c.Chats, c.Routes}
}

// with is c with the live settings of another.
func (c Config) with(l live) Config {
	c.Room, c.Members, c.Relay, c.Users, c.Chats, c.Routes = l.Room, l.Members, l.Relay, l.Users, l.Chats, l.Routes
	return c.defaults()
}

// inForce is settings.json: which settings a running bridge has, as digests, for
// the command line to compare.
type inForce struct {
	Version int    `json:"version"`
	Live    string `json:"live"`
	Fixed   string `json:"fixed"`
}

const inForceVersion = 1

func (c Config) inForce() inForce {
	c = c.defaults()
	return inForce{inForceVersion, digest(c.live()), digest(struct {
		BaseURL string
		Flood   bridge.Flood
		Rich    bool `json:",omitempty"`
	}{c.BaseURL, c.Flood, c.Rich})}
}

func digest(of any) string {
	data, err := json.Marshal(of)
	if err != nil {
		panic(err) // strings and numbers
	}
	sum := blake3.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Obeys says which settings of c the bridge of c.Home had in force when it last
// took any up: live are rooms, routes, members, relay and who may speak, fixed the
// server and the flood limits, which it reads when it starts. Both are false of one
// that has not said.
func (c Config) Obeys() (live, fixed bool) {
	has, _ := readInForce(c.Home)
	want := c.inForce()
	return has.Live == want.Live, has.Fixed == want.Fixed
}

// readInForce reads settings.json; known is false where it says nothing.
func readInForce(home string) (has inForce, known bool) {
	data, cut, err := durable.ReadRegular(filepath.Join(home, "bridges", Name, "settings.json"), 1<<10)
	if err != nil || cut || json.Unmarshal(data, &has) != nil {
		return inForce{}, false
	}
	return has, true
}

// settings are the live ones in force. Whoever reads and replaces them holds mu.
type settings struct {
	mu      sync.Mutex
	checked time.Time // when Reload was asked last
	read    string    // what was read last, if it is not in force
	since   time.Time // since when every reading was that
	names   []string  // reserved for identities and the owner, as they were last
	told    bool      // settings.json was looked at
	doubt   bool      // the run before had others, and a second reading has yet to agree
}

// now are the settings in force.
func (s *session) now() *Config { return s.conf.Load() }

// twice is how far apart two readings of changed settings are, which have to be
// alike: who writes in place leaves half a file for a moment. It is tune.missing
// where somebody would be forgotten.
const twice = 100 * time.Millisecond

// readings is how many refresh makes at most.
const readings = 5

// maxSettings bounds the file of settings.
const maxSettings = 4 << 20

// errChanging is the error of settings that are different at each reading.
var errChanging = errors.New("they keep changing")

// takeUp is what trouble with settings is called in the log and in Health.
const takeUp = "take up changed settings"

// refresh takes up settings that have changed. Those that make no sense are refused
// as a whole, and the old ones stay in force. It is to be called again soon if it
// says so. With an age, settings that were looked at so lately are taken as they
// were, and it does not wait for a second reading.
func (s *session) refresh(age time.Duration) (again bool) {
	if s.cfg.Reload == nil {
		return false
	}
	for i := range readings {
		if i > 0 {
			time.Sleep(twice)
		}
		left := s.look(age)
		if left <= 0 {
			return false
		}
		if left > twice || age > 0 {
			return true
		}
	}
	s.hub.Hinder(takeUp, errChanging)
	return true
}

// look reads the settings once, and takes them up if they were the same for long
// enough; left is how long that still has to be.
func (s *session) look(age time.Duration) (left time.Duration) {
	s.settings.mu.Lock()
	defer s.settings.mu.Unlock()
	if time.Since(s.settings.checked) < age {
		return 0
	}
	c, err := s.reread()
	s.settings.checked = time.Now()
	if errors.Is(err, fs.ErrNotExist) {
		c, err = Config{}, nil
	}
	var read string
	grace := twice
	if err != nil {
		read = err.Error()
	} else {
		c = s.cfg.with(c.live())
		if read = digest(c.live()); read == digest(s.now().live()) && !s.settings.doubt {
			s.settings.read = ""
			s.hub.Hinder(takeUp, nil)
			return 0
		}
		// A file that says nothing is missing, or emptied to be written.
		if nothing := s.cfg.with(live{}); read == digest(nothing.live()) || s.now().loses(c) {
			grace = s.cfg.tune.missing
		}
	}
	if read != s.settings.read {
		s.settings.read, s.settings.since = read, time.Now()
	}
	if left = grace - time.Since(s.settings.since); left > 0 {
		return left
	}
	if err == nil {
		err = s.obey(c)
	}
	s.hub.Hinder(takeUp, err)
	return 0
}

// reread asks for the settings as they are now, but not while a pipe, which could be
// silent for ever, or something huge is where the file should be.
func (s *session) reread() (Config, error) {
	if file := s.cfg.SettingsFile; file != "" {
		switch fi, err := os.Stat(file); { // the owner may have made it a link
		case err != nil:
			return Config{}, err
		case !fi.Mode().IsRegular():
			return Config{}, fmt.Errorf("read %s: %w", file, durable.ErrNotRegular)
		case fi.Size() > maxSettings:
			return Config{}, fmt.Errorf("read %s: it is larger than %d bytes", file, maxSettings)
		}
	}
	return s.cfg.Reload()
}

// loses says whether somebody who is heard with c's settings is not with those of
// next, or a chat loses its route.
func (c Config) loses(next Config) bool {
	gone := func(old, now []string) bool {
		has := map[string]bool{}
		for _, entry := range now {
			has[idOf(entry)] = true
		}
		return slices.ContainsFunc(old, func(entry string) bool { return !has[idOf(entry)] })
	}
	return gone(c.Users, next.Users) || gone(c.Chats, next.Chats) ||
		c.Members != access.MembersListed && next.Members == access.MembersListed ||
		slices.ContainsFunc(c.Routes, func(r Route) bool { return !slices.Contains(next.Routes, r) })
}

// idOf is the id of "ID NAME".
func idOf(entry string) string {
	id, _, _ := strings.Cut(strings.TrimSpace(entry), " ")
	return id
}

// firstLook is the refresh before anything rests on the settings. Other ones than the
// run before had may be those of a file that is away for a moment: they have to be
// read again first. After the end of ctx nothing may rest on them.
func (s *session) firstLook(ctx context.Context) (again bool) {
	again = s.refresh(0)
	for s.doubtful() && sleep(ctx, twice) {
		again = s.refresh(0)
	}
	return again
}

func (s *session) doubtful() bool {
	s.settings.mu.Lock()
	defer s.settings.mu.Unlock()
	return s.settings.doubt
}

// obey puts settings in force. The caller holds settings.mu.
func (s *session) obey(c Config) error {
	if err := c.Check(); err != nil {
		return err
	}
	if err := s.enlist(listsOf(c, s.memory)); err != nil {
		return err
	}
	s.conf.Store(&c)
	s.settings.read, s.settings.doubt = "", false
	s.tellInForce()
	s.log.Info("takes up changed settings", "users", len(c.Users), "chats", len(c.Chats), "routes", len(c.Routes), "room", c.Room)
	s.changed()
	return nil
}

// tellInForce writes down which settings are in force. At the start, ones that
// nobody may rely on yet are not.
func (s *session) tellInForce() {
	now := s.now().inForce()
	if !s.settings.told {
		s.settings.told = true
		was, known := readInForce(s.cfg.Home)
		if s.settings.doubt = s.cfg.Reload != nil && known && was.Live != now.Live; s.settings.doubt {
			return
		}
	}
	data, err := json.Marshal(now)
	if err == nil {
		err = durable.Replace(filepath.Join(s.cfg.Home, "bridges", Name, "settings.json"), append(data, '\n'), 0o600)
	}
	if err != nil { // only lethe bridge telegram who depends on it
		s.log.Warn("which settings are in force cannot be written down", "error", err)
	}
}

// reserve reserves the names of identities that are new.
func (s *session) reserve() error {
	s.settings.mu.Lock()
	defer s.settings.mu.Unlock()
	l := listsOf(*s.now(), s.memory)
	if slices.Equal(l.Names, s.settings.names) {
		return nil
	}
	return s.enlist(l)
}

// relist tells the policy the lists under the ids that chats have now.
func (s *session) relist() error {
	s.settings.mu.Lock()
	defer s.settings.mu.Unlock()
	return s.enlist(listsOf(*s.now(), s.memory))
}

// enlist tells the policy the lists. The caller holds settings.mu.
func (s *session) enlist(l access.Lists) error {
	err := s.policy.Static(l)
	if err == nil {
		s.settings.names = l.Names
	}
	return err
}
