// Package telegram is the bridge between rooms and Telegram: one bot, any number of chats and
// rooms.
//
//	err := telegram.Run(ctx, telegram.Config{
//		Home: home, Store: store, Watcher: watcher, Log: log,
//		Token: os.Getenv("TELEGRAM_BOT_TOKEN"),
//	})
//
// What it guarantees, beside what package bridge does:
//
//   - A message to the bot is durable in its room, or in the bridge's inbox, before Telegram is
//     told that it may forget it. Updates that come again make no second line.
//   - Nobody's words reach a room before the owner has listed the person or the group. A stranger
//     is told once how to be let in; all strangers together get at most 20 answers an hour.
//   - No fault of the network, of a proxy or of Telegram ends Run, or makes it deaf: every
//     request has a deadline, and failed polls start over on new connections. Only a token that
//     Telegram does not accept ends it: ErrToken.
//   - The token is in no log, no error and no file.
//   - A chat that takes nothing, or is told to wait, holds up no other chat.
//
// Read on in this order: api.go (the token and requests), update.go, content.go, inbound.go,
// and poll.go (what comes in), commands.go (answers of the bridge
// itself, and that it types), question.go (buttons), peers.go (which chats hear which rooms), parts.go
// and send.go (what goes out). docs/telegram.md is for the owner of a bot.
package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	"golang.org/x/time/rate"

	"lethe/agent/home"
	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/access"
	"lethe/chat"
)

// Name is the name of the bridge, and of its directory under <home>/bridges.
const Name = "telegram"

// DefaultBaseURL is Telegram's own server.
const DefaultBaseURL = "https://api.telegram.org"

// Config names the bot to run, and its people.
type Config struct {
	Home    string
	Store   *blobs.Store  // takes what people send
	Watcher *chat.Watcher // the caller runs it
	Shared  bridge.Shared // nil where no other host shares the home
	Log     *slog.Logger  // may be nil

	Token string // 123456:ABC-def, from BotFather
	Settings

	// Names returns the reserved names: the identities' and the owner's. It is called for
	// each batch of messages, since identities come and go. May be nil.
	Names func() []string

	Notify []string // names of listed persons whose private chats get the notices for them
	People []string // who may answer a question that names nobody

	// Hire has a life hear a room for the work, or says there and in an error that nobody can. May be nil without Roles.
	Hire func(room string, work home.Hired) error

	// Ready is called once, with the bot's user name, when Telegram has answered. May be nil.
	Ready func(bot string)

	tune tuning
}

// Settings are the table telegram of config.toml.
type Settings struct {
	TokenFile string `toml:"token_file"` // the caller reads it
	BaseURL   string `toml:"base_url"`   // "": DefaultBaseURL; of a self-hosted server otherwise
	Room      string `toml:"room"`       // of chats that were given no room; "": "dev"
	// Members names the people who may speak in a listed group: access.MembersAll ("") or
	// access.MembersListed.
	Members string `toml:"members"`
	// Roles has the roles of lives that are hired for chats, by the ids of chats and topics; see everyPrivate. "" is no
	// role.
	Roles map[string]string `toml:"roles"`
}

// tuning holds what only tests change.
type tuning struct {
	poll, grace         time.Duration // the server may keep a getUpdates open for poll, and be late by grace
	backoff, maxBackoff time.Duration // after failures of getUpdates
	call, upload        time.Duration // for any other request; for one with files
	file, files         time.Duration // for one file with all attempts; for all files of a batch
	maxFile             int64         // bytes; what a bot may download
	album               time.Duration // that the messages of an album come after each other, at most
	typing              time.Duration // Telegram shows "typing" for 5 s
	speed               float64       // of messages; see newPace
}

// patient is changed by tests alone.
var patient = tuning{
	poll: 30 * time.Second, grace: 15 * time.Second,
	backoff: time.Second, maxBackoff: time.Minute,
	call: 30 * time.Second, upload: 5 * time.Minute,
	file: 20 * time.Second, files: time.Minute, maxFile: 20 << 20,
	album:  time.Second,
	typing: 4500 * time.Millisecond,
	speed:  1,
}

func (c Config) defaults() Config {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.BaseURL = strings.TrimRight(cmp.Or(c.BaseURL, DefaultBaseURL), "/")
	c.Room = cmp.Or(c.Room, "dev")
	c.tune = cmp.Or(c.tune, patient)
	return c
}

// Check refuses settings that make no sense, as Run does: addresses, rooms, routes and ids.
func (c Config) Check() error {
	c = c.defaults()
	if !plainAddress(c.BaseURL) {
		return errors.New("base_url is not of the form https://host/path")
	}
	if !chat.ValidRoom(c.Room) {
		return fmt.Errorf("room %q: a name is a-z, 0-9, _ and -, at most 64 of them", c.Room)
	}
	if !slices.Contains([]string{"", access.MembersAll, access.MembersListed}, c.Members) {
		return fmt.Errorf("members = %q: use %s or %s", c.Members, access.MembersAll, access.MembersListed)
	}
	for key := range c.Roles {
		if err := CheckID(key); err != nil && key != everyPrivate {
			return fmt.Errorf("roles: %w; %s stands for private chats", err, everyPrivate)
		}
	}
	return nil
}

// plainAddress reports whether an address has a scheme of the web, a host and perhaps a path, and nothing else.
func plainAddress(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return false
	}
	if parsed.User != nil || parsed.RawQuery+parsed.Fragment != "" {
		return false
	}
	return parsed.Scheme == "http" || parsed.Scheme == "https"
}

// CheckID refuses an id that would match nobody: Telegram and peers write each id in one way. A point and a topic may
// stand behind the id of a group.
func CheckID(id string) error {
	chat, topic := parseKey(id)
	n, err := strconv.ParseInt(chat, 10, 64)
	topicOfPerson := n > 0 && topic != 0
	asWritten := err == nil && keyOf(strconv.FormatInt(n, 10), topic) == id
	if n == 0 || topicOfPerson || !asWritten {
		return fmt.Errorf("%q is not an id, a number without anything before or behind it: write /id to the bot", id)
	}
	return nil
}

// session is one run of one bot.
type session struct {
	cfg    Config
	log    *slog.Logger
	api    *api
	hub    *bridge.Bridge
	policy *access.Policy
	chats  *chats
	pace   *pace
	source string // the bot: each has update ids of its own
	fail   context.CancelCauseFunc
	spawn  func(func(context.Context)) // runs a part of the session beside the others

	// seen has the texts of the newest messages, for the poll loop alone: Telegram tells of edits that change nothing.
	seen  map[messageID]string
	hired map[string]bool // peers for whose roles somebody is there, likewise
	me    atomic.Pointer[models.User]

	strangers *rate.Limiter // of answers to them
	denials   *rate.Limiter // of lines in the log that tell of strangers
	logged    sync.Map      // strangers that the log names
	asked     sync.Map      // chats of strangers that were answered: they are told when they are let in
	typing    sync.Map      // by peer: its topic; see showTyping

	delivering sync.Mutex
	running    map[string]*delivery // the Delivers under way, by peer; nil when the session ends
}

// Run runs the bridge until ctx ends, and then returns nil. It ends by itself with an error that
// wraps ErrToken when Telegram does not accept the token, with bridge.ErrRunning when
// another process runs this bridge, and when the configuration or the bridge's own files make no
// sense.
func Run(ctx context.Context, config Config) error {
	config = config.defaults()
	if err := errors.Join(CheckToken(config.Token), config.Check()); err != nil {
		err = fmt.Errorf("start the telegram bridge: %w", err)
		bridge.Failed(config.Home, Name, err)
		return err
	}
	if err := run(ctx, config); err != nil {
		return fmt.Errorf("run the telegram bridge: %w", err)
	}
	return nil
}

func run(ctx context.Context, config Config) (err error) {
	hub, err := bridge.Open(bridge.Config{
		Home: config.Home, Name: Name, Log: config.Log, Watcher: config.Watcher, Shared: config.Shared,
	})
	if err != nil {
		return err
	}
	defer func() {
		hub.Fail(err) // health shows an error
		err = errors.Join(err, hub.Close())
	}()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s, err := newSession(config, hub, fail)
	if err != nil {
		return err
	}
	defer s.api.client.CloseIdleConnections()
	group, ctx := errgroup.WithContext(ctx)
	s.spawn = func(f func(context.Context)) { group.Go(func() error { f(ctx); return nil }) }
	group.Go(func() error { return hub.Run(ctx) })
	group.Go(func() error { return s.poll(ctx) })
	group.Go(func() error { return s.deliver(ctx) })
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrToken) {
		return cause
	}
	return nil
}

func newSession(config Config, hub *bridge.Bridge, fail context.CancelCauseFunc) (*session, error) {
	dir := filepath.Join(config.Home, "bridges", Name)
	bot, _, _ := strings.Cut(config.Token, ":") // its number, which is no secret
	known, err := openChats(dir, config.Log)
	if err != nil {
		return nil, err
	}
	s := &session{
		cfg: config, log: config.Log, api: newAPI(config.BaseURL, config.Token), hub: hub, chats: known,
		policy: &access.Policy{Dir: dir, Members: config.Members, Names: config.Names, People: config.People},
		pace:   newPace(config.tune.speed), source: bot, fail: fail, seen: map[messageID]string{}, hired: map[string]bool{},
		// 5 at once and one every 4 minutes are 20 in the first hour.
		strangers: rate.NewLimiter(rate.Every(4*time.Minute), 5),
		denials:   rate.NewLimiter(rate.Every(time.Minute), 20),
		running:   map[string]*delivery{},
	}
	s.me.Store(&models.User{})
	return s, nil
}
