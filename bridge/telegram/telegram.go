// Package telegram is the bridge between rooms and Telegram: one bot, any number
// of chats, any number of rooms.
//
//	err := telegram.Run(ctx, telegram.Config{
//		Home: home, Store: store, Watcher: watcher, Log: log,
//		Token: os.Getenv("TELEGRAM_BOT_TOKEN"),
//	})
//
// What it guarantees, beside what package bridge does:
//
//   - A message to the bot is durable in its room, or in the bridge's inbox,
//     before Telegram is told that it may forget it. Updates that come again,
//     after a crash or because the server repeats them, make no second line.
//   - Nobody's words reach a room before the owner has listed him or the group. A
//     stranger gets a code, at most once an hour, and no more than 20 strangers'
//     answers go out in an hour.
//   - No fault of the network, of a proxy or of Telegram ends Run, and none makes
//     it deaf: every request has a deadline, and failed polls start over on new
//     connections. Only a token that Telegram does not know ends it: ErrToken.
//   - The token is in no log, no error and no file.
//   - A chat that takes nothing, or is told to wait, holds up no other chat.
//
// Read on in this order: token.go and api.go (the way to Telegram), content.go,
// update.go, recent.go and inbound.go (what comes in), poll.go, trouble.go and
// media.go (how), settings.go (what changes meanwhile), commands.go, strangers.go and
// asides.go (who is answered here and now), memory.go, routes.go, voices.go and
// peers.go (which chats hear which rooms), parts.go, pace.go, send.go and rich.go (what
// goes out), typing.go. docs/telegram.md is for the owner of a bot.
package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot/models"
	"golang.org/x/sync/errgroup"

	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/chat"
)

// Name is the bridge's name, and that of its directory under <home>/bridges.
const Name = "telegram"

// DefaultBaseURL is Telegram's own server.
const DefaultBaseURL = "https://api.telegram.org"

// Values of Config.Relay.
const (
	RelayAgents = "agents" // what agents say goes out
	RelayAll    = "all"    // what other people say too, as "name: text"
)

// Config says which bot to run, and for whom.
type Config struct {
	Home    string
	Store   *blobs.Store  // takes what people send
	Watcher *chat.Watcher // the caller runs it
	Log     *slog.Logger  // may be nil

	Token   string // 123456:ABC-def, from BotFather
	BaseURL string // "": DefaultBaseURL; of a self-hosted server otherwise

	Room   string  // of chats without a route; "": "dev"
	Routes []Route // these win over what was said at an approval

	// Users and Chats are allowed beside those that were approved: "ID", or
	// "ID NAME".
	Users, Chats []string
	// Members says who may speak in a listed group: access.MembersAll ("") or
	// access.MembersListed.
	Members string
	// Names can sign nobody's lines but their owners': the identities', the owner's.
	// They are asked for with each batch of messages, since identities come and go. May
	// be nil.
	Names func() []string

	Flood bridge.Flood
	Relay string // "": RelayAgents
	Rich  bool   // send with sendRichMessage, which some clients do not show

	// Ready is called once, when Telegram has answered for the first time, with the
	// bot's user name. May be nil.
	Ready func(bot string)

	// Poll is how long the server may keep a getUpdates open, 1 to 50 s; 0: 30 s. The
	// request gets 15 s more.
	Poll time.Duration

	// Reload, if set, reads the settings again while the bridge runs: Room, Routes,
	// Users, Chats, Members and Relay of what it returns take the place of those here.
	// It is asked before each batch of messages and when the file SettingsFile changes.
	// What fails, Check too, is told, and changes nothing. Where the error wraps
	// fs.ErrNotExist there are none, which counts after two seconds: editors move a
	// file away for a moment. Other settings need a new Run.
	Reload       func() (Config, error)
	SettingsFile string

	tune tuning
}

// Route gives a chat, or one topic of it, a room.
type Route struct {
	Chat  string // the id
	Topic int    // message_thread_id; 0, or 1, the General topic: the chat itself
	Room  string
}

// tuning holds what only tests change.
type tuning struct {
	grace               time.Duration // beyond Poll for a getUpdates
	backoff, maxBackoff time.Duration // after failures of getUpdates
	call                time.Duration // for any other request
	file                time.Duration // for one file, all attempts together
	fileSick            time.Duration // the same, after one that took too long
	files               time.Duration // for all files of a batch
	filesOff            time.Duration // no file is asked for, after two that took too long
	fileTries           int
	maxFile             int64         // bytes; what a bot may download
	typing              time.Duration // Telegram shows "typing" for 5 s
	again               time.Duration // before a Deliver that failed is begun again
	missing             time.Duration // before a list that is not there, or somebody on it who is not, counts as gone
	rates               rates
}

func (c Config) defaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.BaseURL = strings.TrimRight(cmp.Or(c.BaseURL, DefaultBaseURL), "/")
	c.Room = cmp.Or(c.Room, "dev")
	c.Relay = cmp.Or(c.Relay, RelayAgents)
	c.Poll = min(max(cmp.Or(c.Poll, 30*time.Second), time.Second), 50*time.Second) // Telegram's longest
	t := &c.tune
	t.grace = cmp.Or(t.grace, 15*time.Second)
	t.backoff, t.maxBackoff = cmp.Or(t.backoff, time.Second), cmp.Or(t.maxBackoff, time.Minute)
	t.call = cmp.Or(t.call, 30*time.Second)
	t.file, t.fileSick = cmp.Or(t.file, 20*time.Second), cmp.Or(t.fileSick, 3*time.Second)
	t.files, t.filesOff, t.fileTries = cmp.Or(t.files, time.Minute), cmp.Or(t.filesOff, time.Minute), cmp.Or(t.fileTries, 3)
	t.maxFile = cmp.Or(t.maxFile, 20<<20)
	t.typing = cmp.Or(t.typing, 5*time.Second)
	t.again = cmp.Or(t.again, 10*time.Second)
	t.missing = cmp.Or(t.missing, 2*time.Second)
	t.rates = cmp.Or(t.rates, telegramRates)
	c.Routes = slices.Clone(c.Routes)
	for i, r := range c.Routes {
		if r.Topic == 1 { // messages of the General topic come, and go, without a topic
			c.Routes[i].Topic = 0
		}
	}
	return c
}

// Check refuses settings that make no sense, as Run does: addresses, rooms, routes
// and ids. It looks at nothing else.
func (c Config) Check() error {
	c = c.defaults()
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("base_url is not of the form https://host/path")
	}
	if !chat.ValidRoom(c.Room) {
		return fmt.Errorf("room %q: a name is a-z, 0-9, _ and -, at most 64 of them", c.Room)
	}
	if c.Relay != RelayAgents && c.Relay != RelayAll {
		return fmt.Errorf("relay = %q is none of %s, %s", c.Relay, RelayAgents, RelayAll)
	}
	for i, r := range c.Routes {
		if _, ok := number(r.Chat); !ok {
			return fmt.Errorf("route of chat %q: an id is a number without anything before or behind it: write /id there", r.Chat)
		}
		if r.Topic < 0 {
			return fmt.Errorf("route of chat %s: topic = %d: topics have numbers from 1 on: write /id there", r.Chat, r.Topic)
		}
		if !chat.ValidRoom(r.Room) {
			return fmt.Errorf("route of chat %s: room %q: a name is a-z, 0-9, _ and -, at most 64 of them", r.Chat, r.Room)
		}
		for _, other := range c.Routes[:i] {
			if other.Chat == r.Chat && other.Topic == r.Topic {
				if r.Topic == 0 {
					return fmt.Errorf("route of chat %s: there are two for the chat itself, which topic = 1 means too", r.Chat)
				}
				return fmt.Errorf("route of chat %s, topic %d: there are two", r.Chat, r.Topic)
			}
		}
	}
	for _, entry := range c.Chats {
		id, _, _ := strings.Cut(strings.TrimSpace(entry), " ")
		if n, ok := number(id); !ok || n >= 0 {
			return fmt.Errorf("chats: %q is not the id of a group or channel, a negative number: persons are listed as users", entry)
		}
	}
	for _, entry := range c.Users {
		id, _, _ := strings.Cut(strings.TrimSpace(entry), " ")
		if _, ok := number(id); !ok {
			return fmt.Errorf("users: %q does not begin with an id, a number without + or zeros before it", entry)
		}
	}
	return new(access.Policy).Static(c.lists())
}

// number reads an id, in the one way in which Telegram's are written: another would
// match nobody.
func number(id string) (n int64, ok bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	return n, err == nil && n != 0 && strconv.FormatInt(n, 10) == id
}

// loopback says whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c Config) lists() access.Lists {
	l := access.Lists{Users: c.Users, Chats: c.Chats, Members: c.Members}
	if c.Names != nil {
		l.Names = c.Names()
	}
	return l
}

// session is one run of one bot.
type session struct {
	cfg    Config    // never changed
	told   sync.Once // that it is ready
	log    *slog.Logger
	api    *api
	hub    *bridge.Bridge
	policy *access.Policy
	memory *memory
	pace   *pace
	seen   *recent    // by the poll loop alone
	news   int        // updates of the newest batch that were not known; by the poll loop alone
	files  fileServer // by the downloads of the poll loop
	voices *voices    // who is heard in which room
	allow  *allowance // of answers to strangers
	asides *asides
	nudge  chan chan struct{} // the peers may have changed; what is sent is closed when that was seen to
	source string             // whose update ids: see place
	deaf   atomic.Bool        // the newest batch could not be taken in
	fail   context.CancelCauseFunc

	instead sync.Map // by peer: see sendRich

	settings settings
	conf     atomic.Pointer[Config] // cfg, with the live settings in force

	mu sync.Mutex
	me models.User // zero until getMe was answered
}

// Run runs the bridge until ctx ends, and then returns nil. It ends by itself
// with an error that wraps ErrToken when Telegram does not know the token, with
// a *bridge.RunningError when another process runs this bridge, and when the
// configuration or the bridge's own files make no sense.
func Run(ctx context.Context, c Config) error {
	c = c.defaults()
	if err := errors.Join(checkToken(c.Token), c.Check()); err != nil {
		err = fmt.Errorf("start the telegram bridge: %w", err)
		if unnoted := bridge.Failed(c.Home, Name, err); unnoted != nil {
			c.Log.Debug("that the bridge could not start is not noted", "error", unnoted)
		}
		return err
	}
	if err := run(ctx, c); err != nil {
		return fmt.Errorf("run the telegram bridge: %w", err)
	}
	return nil
}

func run(ctx context.Context, c Config) (err error) {
	var s *session // before hub.Run begins
	hub, err := bridge.Open(bridge.Config{
		Home: c.Home, Name: Name, Log: c.Log, Watcher: c.Watcher, Flood: c.Flood, Listens: true,
		Allowed: func(m bridge.Message) (bool, error) { return s.allowed(m) },
	})
	if err != nil {
		return err
	}
	defer func() {
		hub.Fail(err) // nil is none; health shows the others
		err = errors.Join(err, hub.Close())
	}()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if s, err = newSession(c, hub, fail); err != nil {
		return err
	}
	defer s.api.close()
	if u, _ := url.Parse(c.BaseURL); u.Scheme == "http" && !loopback(u.Hostname()) {
		s.log.Warn("base_url is not https: the token crosses the network readably", "host", u.Host)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return hub.Run(ctx) })
	g.Go(func() error { return s.poll(ctx) })
	g.Go(func() error { return s.deliver(ctx) })
	g.Go(func() error { return s.answer(ctx) })
	g.Go(func() error { return s.showTyping(ctx) })
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrToken) {
		return cause
	}
	return nil
}

// allowed says whether who wrote a message that waits may still speak.
func (s *session) allowed(m bridge.Message) (bool, error) {
	s.refresh(twice)
	if s.doubtful() { // the lists at hand may be those of a file that is being written
		return false, errUnsettled
	}
	rules, err := s.policy.Rules()
	return err == nil && s.may(m, rules), err
}

// errUnsettled keeps what waits waiting while it is open which settings hold.
var errUnsettled = errors.New("config.toml is not settled yet")

// may says whether who wrote a message may speak by these rules, as hear does.
func (s *session) may(m bridge.Message, rules access.Rules) bool {
	var n note
	_ = json.Unmarshal(m.Note, &n) // ours; those of older versions know of no bots
	if n.Bot && !rules.User(m.Key) {
		return false
	}
	chat, _, _ := parseKey(m.Peer)
	private := !strings.HasPrefix(chat, "-") // ids of groups and channels are negative
	return rules.Decide(m.Key, s.memory.canonical(chat), private).Allowed
}

func newSession(c Config, hub *bridge.Bridge, fail context.CancelCauseFunc) (*session, error) {
	dir := filepath.Join(c.Home, "bridges", Name)
	// A list that cannot be read is waited for: see poll.
	policy := access.New(dir)
	memory, err := openMemory(dir, c.Log)
	if err != nil {
		return nil, err
	}
	if err := policy.Static(listsOf(c, memory)); err != nil {
		return nil, err
	}
	s := &session{
		cfg: c, log: c.Log, api: newAPI(c.BaseURL, c.Token), hub: hub, policy: policy, memory: memory,
		pace: newPace(c.tune.rates), seen: newRecent(), voices: newVoices(c.Home), allow: newAllowance(),
		asides: newAsides(), nudge: make(chan chan struct{}, 1), source: sourceOf(c), fail: fail,
	}
	s.conf.Store(&c)
	s.tellInForce()
	return s, nil
}
