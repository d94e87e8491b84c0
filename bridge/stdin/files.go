package stdin

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"lethe/chat"
	"lethe/events"
	"lethe/internal/secret"
	"lethe/internal/status"
)

// message is one line of a room.
type message = chat.Line

// news is what has changed in the files since the last news. The statuses in
// it were read before the lines: an agent that is seen idle has its answer
// among the lines that were seen by then.
type news struct {
	Room   string
	Agents []agent  // that run, wherever they listen
	Rooms  []string // of the home
	Lines  []message
	Fresh  bool    // Lines are the end of the room, not what followed earlier news
	Acts   []heard // what happened to those that hear the room
	Err    error   // the room could not be read
}

// files are those of a home that a chat looks at: one room, and what the
// identities show of themselves.
type files struct {
	cfg     Config
	watcher *chat.Watcher
	changed <-chan struct{} // gets a value when look may find something new
	unwatch func()
	dirs    []string // of the identities, watched
	path    string   // of the room
	cursor  chat.Cursor
	seen    news                      // the last one, without its lines
	all     []agent                   // also those that do not run
	follows map[string]*events.Stream // by identity that hears the room; nil of a log that cannot be read
}

func newFiles(cfg Config) *files {
	return &files{cfg: cfg, watcher: chat.NewWatcher(cfg.Poll, nil), unwatch: func() {}, follows: map[string]*events.Stream{}}
}

// open views a room from its end.
func (f *files) open(room string) news {
	f.unfollow()
	f.list()
	f.path, f.cursor = chat.Path(f.cfg.Home, room), chat.Cursor{}
	lines, err := f.last()
	f.seen.Room, f.seen.Err = room, err
	n := f.seen
	n.Lines, n.Fresh = lines, true
	return n
}

// look returns what there is, and whether anything of it is new.
func (f *files) look() (n news, isNew bool) {
	before := f.seen
	f.list()
	lines, fresh, err := f.next()
	f.seen.Err = err
	n = f.seen
	n.Lines, n.Fresh = lines, fresh
	if fresh {
		f.unfollow()
	}
	n.Acts = f.happened() // after the lines: what they answer has happened
	return n, len(lines) > 0 || len(n.Acts) > 0 || fresh || !reflect.DeepEqual(before, f.seen)
}

// list finds the identities and rooms there are, and watches them.
func (f *files) list() {
	root := filepath.Join(f.cfg.Home, "agents")
	entries, _ := os.ReadDir(root) // no directory is no identities
	var dirs []string
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(root, e.Name()))
	}
	if f.changed == nil || !slices.Equal(dirs, f.dirs) {
		scopes := []chat.Scope{{Dir: chat.Dir(f.cfg.Home)}, {Dir: root}}
		for _, dir := range dirs {
			scopes = append(scopes, chat.Scope{Dir: dir, Names: append([]string{"status.json"}, status.LiveFiles...)})
			if f.cfg.Store != nil {
				scopes = append(scopes, chat.Scope{Dir: dir, Names: []string{"LIFE.md"}})
			}
		}
		old := f.unwatch
		f.changed, f.unwatch = f.watcher.Subscribe(scopes...)
		old()
		f.dirs = dirs
	}
	f.all = readAgents(dirs)
	f.seen.Agents = slices.DeleteFunc(slices.Clone(f.all), func(a agent) bool { return a.State == status.Stopped })
	f.seen.Rooms = chat.All(f.cfg.Home)
}

// last starts over at the last lines of the room.
func (f *files) last() ([]message, error) {
	_, _, cursor, err := chat.Tail(f.path, history)
	if err != nil {
		return nil, err
	}
	f.cursor = cursor
	lines, _, err := f.next()
	return lines, err
}

// next returns what was appended since. When the file is no longer the one that
// was read, fresh is true and the lines are its end.
func (f *files) next() (lines []message, fresh bool, err error) {
	for more := true; more; {
		b, err := chat.Read(f.path, f.cursor, 1<<20) // so that a flood does not hold the reader
		if err != nil {
			return lines, false, err
		}
		if b.Restarted {
			lines, err := f.last()
			return lines, true, err
		}
		lines = append(lines, b.Lines...)
		f.cursor, more = b.Next, b.More
	}
	return lines, false, nil
}

// say appends text to the room and returns where its line ends.
func (f *files) say(text string) (to int64, err error) {
	line, err := chat.Format(false, f.cfg.User, time.Now(), secret.Text(text))
	if err != nil {
		return 0, err
	}
	_, to, err = chat.Append(f.path, line)
	return to, err
}
