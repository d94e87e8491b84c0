package status

import (
	"reflect"
	"sync"
	"time"
)

// pace is how often what an identity shows is written at most; more is not seen.
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

// NewView returns what shows dir's identity, of which a process that was killed may have left something.
func NewView(dir string) *View { return &View{dir: dir, shown: ReadLive(dir)} }

// Show says where the identity stands.
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
	if live.Thinking+live.Text+live.Output == "" && (live.Entry == "" || live.Entry != v.shown.Entry) { // nothing has come yet
		live = Live{}
	}
	if live.Entry != v.shown.Entry && v.shown.Text != "" && live.Text != "" { // the text of one is never seen as that of the next
		_, v.shown = writeLive(v.dir, v.shown, Live{}), Live{}
	}
	if live != v.shown && writeLive(v.dir, v.shown, live) == nil { // first: whoever sees a turn end sees nothing under way
		v.shown = live
	}
	if s.Self != "" && !reflect.DeepEqual(s, v.wrote) && Write(v.dir, s) == nil {
		v.wrote = s
	}
}
