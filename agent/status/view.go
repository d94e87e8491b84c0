package status

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"lethe/internal/durable"
	"lethe/internal/secret"
)

// pace limits how often status.json is written; readers may miss states in between.
const pace = 100 * time.Millisecond

// View writes what an identity shows, at its pace and from a goroutine of its own: whoever has something to show
// waits for no file. Nothing depends on the files, so failures to write them are passed over.
type View struct {
	dir string

	files sync.Mutex // held while files are written, and guards what they show
	wrote Status
	shown Live

	mu     sync.Mutex // guards what follows; taken after files
	status Status
	live   Live
	last   time.Time   // when all of it was written
	timer  *time.Timer // that will write; nil when there is nothing new
}

// NewView returns a view that shows dir's identity, and removes the rests of a killed process.
func NewView(dir string) *View { return &View{dir: dir, shown: ReadLive(dir)} }

// Show shows the state of the identity.
func (v *View) Show(s Status) { v.change(func() bool { v.status = s; return true }) }

// Live lets change say what is under way, and whether that is new.
func (v *View) Live(change func(now *Live) bool) { v.change(func() bool { return change(&v.live) }) }

// change notes what is new. It is written a moment later, when whoever shows it has gone on.
func (v *View) change(change func() bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if change() && v.timer == nil {
		v.timer = time.AfterFunc(max(pace/10, time.Until(v.last.Add(pace))), v.Flush)
	}
}

// Flush writes what is new, and returns when it is written.
func (v *View) Flush() {
	v.files.Lock()
	defer v.files.Unlock()
	v.mu.Lock()
	s, live := v.status, v.live
	if v.timer != nil {
		v.timer.Stop()
	}
	v.timer, v.last = nil, time.Now()
	v.mu.Unlock()
	nothing := live.Thinking+live.Text+live.Output == ""
	isNew := live.Entry == "" || live.Entry != v.shown.Entry
	if nothing && isNew { // it has only begun
		live = Live{}
	}
	if live != v.shown && writeLive(v.dir, live) == nil { // first: whoever sees a turn end sees nothing under way
		v.shown = live
	}
	if s.Self != "" && !reflect.DeepEqual(s, v.wrote) && Write(v.dir, s) == nil {
		v.wrote = s
	}
}

// Live is an answer of the model, or the output of a command, that is under way and not recorded yet. It may be empty.
type Live struct {
	Entry    string `json:"entry,omitempty"` // that the answer will be: e12
	Thinking string `json:"thinking,omitempty"`
	Text     string `json:"text,omitempty"`

	Call   string `json:"call,omitempty"`   // that runs: e12.1
	Output string `json:"output,omitempty"` // the newest of it
	From   int64  `json:"from,omitempty"`   // bytes of output before it
}

// LiveFile holds all of it, so that nobody takes the text of one entry for the text of another.
const LiveFile = "live.json"

// writeLive shows in dir what is under way. An end that may be the beginning of a secret is left out.
func writeLive(dir string, l Live) error {
	l.Thinking, l.Text = secret.Begun(l.Thinking), secret.Begun(l.Text)
	data, _ := json.Marshal(l)
	return durable.Replace(filepath.Join(dir, LiveFile), append(secret.Bytes(data), '\n'), 0o600)
}

// maxLive bounds what is read of a live file, in bytes.
const maxLive = 16 << 20

// ReadLive returns what is under way. What cannot be read is not.
func ReadLive(dir string) (l Live) {
	data, _, err := durable.ReadRegular(filepath.Join(dir, LiveFile), maxLive)
	if err != nil || json.Unmarshal(data, &l) != nil {
		return Live{}
	}
	return l
}
