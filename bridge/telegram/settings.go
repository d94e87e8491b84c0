package telegram

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/zeebo/blake3"

	"lethe/bridge"
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
	}{c.BaseURL, c.Flood})}
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
	data, cut, err := durable.ReadRegular(filepath.Join(c.Home, "bridges", Name, "settings.json"), 1<<10)
	var has inForce
	if err != nil || cut || json.Unmarshal(data, &has) != nil {
		return false, false
	}
	want := c.inForce()
	return has.Live == want.Live, has.Fixed == want.Fixed
}

// settings are the live ones in force. Whoever reads and replaces them holds mu.
type settings struct {
	mu      sync.Mutex
	checked time.Time // when Reload was asked last
	gone    time.Time // since when there are none; zero: there are
	names   []string  // reserved for identities and the owner, as they were last
}

// now are the settings in force.
func (s *session) now() *Config { return s.conf.Load() }

// twice is how far apart two readings of changed settings are, which have to be
// alike: an editor that writes in place leaves the file empty, or half of it, for a
// moment.
const twice = 100 * time.Millisecond

// errChanging is the error of settings that are different at each reading.
var errChanging = errors.New("they keep changing")

// takeUp is what trouble with settings is called in the log and in Health.
const takeUp = "take up changed settings"

// refresh takes up settings that have changed. Those that make no sense are refused
// as a whole, and the old ones stay in force. It is to be called again soon if it
// says so. With an age, settings that were looked at so lately are taken as they were.
func (s *session) refresh(age time.Duration) (again bool) {
	if s.cfg.Reload == nil {
		return false
	}
	s.settings.mu.Lock()
	defer s.settings.mu.Unlock()
	if time.Since(s.settings.checked) < age {
		return false
	}
	c, changed, err := s.reread()
	s.settings.checked = time.Now()
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err == nil && changed {
		err = s.obey(c)
	}
	s.hub.Hinder(takeUp, err)
	return errors.Is(err, errChanging)
}

// reread asks for the settings as they are now. The error of a file that may be
// back in a moment wraps fs.ErrNotExist.
func (s *session) reread() (c Config, changed bool, err error) {
	var before string
	for range 20 {
		c, err = s.cfg.Reload()
		switch {
		case err == nil:
			s.settings.gone = time.Time{}
		case errors.Is(err, fs.ErrNotExist):
			if s.settings.gone.IsZero() {
				s.settings.gone = time.Now()
			}
			if time.Since(s.settings.gone) < s.cfg.tune.missing {
				return c, false, err
			}
			c, err = Config{}, nil
		}
		read := ""
		if err != nil {
			read = err.Error()
		} else {
			c = s.cfg.with(c.live())
			if read = digest(c.live()); read == digest(s.now().live()) {
				return c, false, nil
			}
		}
		if read == before {
			return c, err == nil, err
		}
		before = read
		time.Sleep(twice)
	}
	return c, false, errChanging
}

// obey puts settings in force. The caller holds settings.mu.
func (s *session) obey(c Config) error {
	if err := c.Check(); err != nil {
		return err
	}
	if err := s.policy.Static(listsOf(c, s.memory)); err != nil {
		return err
	}
	s.conf.Store(&c)
	s.tellInForce()
	s.log.Info("takes up changed settings", "users", len(c.Users), "chats", len(c.Chats), "routes", len(c.Routes), "room", c.Room)
	s.changed()
	return nil
}

// tellInForce writes down which settings are in force.
func (s *session) tellInForce() {
	data, err := json.Marshal(s.now().inForce())
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
	s.settings.names = l.Names
	return s.policy.Static(l)
}

// relist tells the policy the lists under the ids that chats have now.
func (s *session) relist() error {
	s.settings.mu.Lock()
	defer s.settings.mu.Unlock()
	return s.policy.Static(listsOf(*s.now(), s.memory))
}
