// Package event has a type for each kind of event that LIFE.md records, as
// docs/life.md lists them under "Events".
//
//	err := log.Append(event.Line(now, event.Left{Room: "dev"}))
//	e, err := event.Parse(line)
//	switch e := e.(type) {
//	case event.Left: // e.Room
//
// A field tagged arg is an argument of the line; one tagged life is a key=value
// field. Keys may be missing from a line, and are then zero, and keys that no
// type has are ignored; so older and newer programs are read. A value that is there
// must have its form: a malformed number is an error, never 0.
package event

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/life"
)

// Event is what happened, a value of one of the types below. The time and the refs are those of its line.
type Event any

// Line returns the line of an event.
func Line(at time.Time, e Event, refs ...blobs.Ref) life.Event {
	line := life.Event{At: at, Kind: kind(reflect.TypeOf(e)), Refs: refs}
	write(&line, e)
	return line
}

// Boot begins a life. Its ref is the boot blob with the SOUL.
type Boot struct {
	Name    string `life:"name"`
	Version string `life:"version"`
	Parent  string `life:"parent,opt"` // the name of the identity that it is a child of
	Task    string `life:"task,opt"`   // the room of its work
	Fork    Moment `life:"fork,opt"`   // of another life, whose mind it begins with
}

// Joined says that a link to a room has appeared: entry N, a note.
type Joined struct {
	N     int    `arg:"eN"`
	Room  string `life:"room,must"`
	First *First // nil when the room was heard before
}

// First is where a first subscription begins to hear a room.
type First struct {
	Inode  uint64 `life:"inode"`
	At     int64  `life:"at,must"` // offset, in bytes
	Before string `life:"before"`
	Last   Hashes `life:"last"`
	Total  int    `life:"total"`   // lines
	End    int64  `life:"end,opt"` // commands before this offset are history
}

// Left says that the link to a room has gone.
type Left struct {
	Room string `life:"room,must"`
}

// Passage is a range of a room, and the room's cursor behind it.
type Passage struct {
	Room   string `life:"room,must"`
	Inode  uint64 `life:"inode"`
	At     Span   `life:"at,must"`
	Before string `life:"before"`
}

// Inbound says that lines of a room became entry N.
type Inbound struct {
	N int `arg:"eN"`
	Passage
	Lines  int      `life:"lines"`
	Own    []Span   `life:"own"`       // of the ref's text, not heard
	Moved  bool     `life:"moved=yes"` // earlier offsets mean nothing any more
	Asleep bool     `life:"wake=no"`   // it owes no answer
	Show   int      `life:"show,opt"`
	Places bool     `life:"mark=places"` // what is left out of the ref's text is named by its place
	Images []string `life:"image"`       // that the lines name: ADDRESS:WIDTHxHEIGHT of each, in pixels
	// The one line answers a question of this id. Choice is one of its options.
	Answers string `life:"answers,opt"`
	Choice  string `life:"choice,opt"`
}

// Asked says that people are asked something in the first room of Posts. Its ref is the question.
type Asked struct {
	ID   string `arg:"kN"`
	Call string `life:"call,must"` // a WAIT, or the call that is to be approved
	Posting
}

// Run says that a call that people have approved is about to run; ID is that of the question.
// A Note with the ID ends it.
type Run struct {
	ID     string `arg:"ID"`
	Tool   string `arg:"TOOL"`
	Child  string `life:"child,opt"` // the name of the identity that a SPAWN makes
	Notice        // of a SAY, or a SPAWN's brief
}

// Grant says that a user mentioned a blob of another life.
type Grant struct {
	Hash string `life:"hash"`
	By   string `life:"by"`
}

// Command is a user's line for the harness.
type Command struct {
	ID string `arg:"kN"`
	Passage
	Name  string `life:"name"`
	By    string `life:"by"`
	Line  string `life:"line,opt"`
	Last  string `life:"last,opt"`  // the hash of a line too long to be recorded
	Early bool   `life:"early=yes"` // lines before it are not heard yet
	Moved bool   `life:"moved=yes"`
	Model string `life:"model,opt"`
	// Raise is how many dollars a person adds to a limit of the budget: Of which, on Day.
	Raise  float64 `life:"raise,opt"`
	Of     string  `life:"of,opt"`
	Day    string  `life:"day,opt"`
	Relay  []Place `life:"relay"`      // rooms of children that it is said in, too
	Forget Entries `life:"forget,opt"` // what of this is in whole turns is to fade
	Notice
}

// Tokens is what calls of a model have used.
type Tokens struct {
	In     int64   `life:"in"`
	Cached int64   `life:"cached"`
	Out    int64   `life:"out"`
	USD    float64 `life:"usd"`
	Day    string  `life:"day,opt"`  // the local day that USD counts for; none where USD is 0
	Hold   int     `life:"hold,opt"` // the money put aside that this settles; see package budget
}

// Add adds what something else has cost, which counts for the same day.
func (t *Tokens) Add(u Tokens) {
	t.In, t.Cached, t.Out, t.USD = t.In+u.In, t.Cached+u.Cached, t.Out+u.Out, t.USD+u.USD
	t.Day = cmp.Or(t.Day, u.Day)
}

// Reply is an answer of the model, entry N.
type Reply struct {
	N     int    `arg:"eN"`
	Turn  int    `life:"turn"`
	Model string `life:"model"`
	Tokens
	Weight int64  `life:"weight"` // of the request, in characters
	Finish string `life:"finish"`
	Posting
	Refused bool   `life:"refused=yes"` // it is said nowhere, and the turn goes on
	Caveat  string `life:"caveat,opt"`  // what the posted line says behind the text
}

// Call says that a tool is about to run.
type Call struct {
	ID    string `arg:"eN.k"`
	Tool  string `arg:"TOOL"`
	Child string `life:"child,opt"` // the name of the identity that a SPAWN makes
	Posting
}

// Result is what became of a call.
type Result struct {
	ID     string   `arg:"eN.k"`
	Tool   string   `arg:"TOOL"`
	Status string   `life:"status,must"`
	Show   int      `life:"show,opt"`
	Places bool     `life:"mark=places"`
	File   File     `life:"file,opt"`   // that the tool has written
	Opened string   `life:"opened,opt"` // the address of a blob that was shown
	Images []string `life:"image"`      // of it, as of an Inbound
	Job    int      `life:"job,opt"`    // that the call goes on as
	// Withdrawn is the id of a question that is open no more.
	Withdrawn string `life:"withdrawn,opt"`
}

// Posted says that an owed line stands in its room.
type Posted struct {
	ID string `arg:"ID"`
	Passage
	Torn []Span `life:"torn"` // left there by attempts that were cut off
}

// Note is the harness's own word to the agent, entry N.
type Note struct {
	N      int    `arg:"eN"`
	Why    string `life:"why"`
	File   File   `life:"file,opt"`
	Show   int    `life:"show,opt"`
	Places bool   `life:"mark=places"`
	Run    string `life:"run,opt"`    // the ID of the Run that has ended
	Status string `life:"status,opt"` // of that Run, as of a Result
	Job    int    `life:"job,opt"`    // that the Run goes on as
	Back   string `life:"back,opt"`   // the newest entry of the context that is gone back to: e39
}

// Hint names blobs that the agent has forgotten, in entry N.
type Hint struct {
	N    int      `arg:"eN"`
	Why  string   `life:"why"`
	Refs []string `life:"ref"` // whole addresses
}

// Error is something that failed and that the identity goes on after.
type Error struct {
	ID      string `arg:"kN"`
	What    string `life:"what"`
	Failure string `life:"kind,opt"`
	Window  int    `life:"window,opt"` // tokens that a request may have from now on
	Text    string `life:"text"`
	Notice
}

// Paused says that the model is asked no more until a person acts.
type Paused struct {
	ID    string `arg:"kN"`
	Why   string `life:"why"`
	Ended bool   `life:"turn=ended"` // only the turn is given up
	// Until is when the identity goes on by itself, where a budget is in the way; what does not
	// raise it ends the pause no earlier.
	Until time.Time `life:"until,opt"`
	Notice
}

// Model says which model answers from the next request on; a Command may say so, too.
type Model struct {
	ID   string `arg:"kN"`
	Use  string `life:"use,opt"` // none: another was tried in vain
	For  string `life:"for,opt"` // the wanted one that does not answer, until it does
	Text string `life:"text"`
	Notice
}

// Fired says that something woke the identity: a trigger, a job that has ended. Its
// line is signed by what wrote it, stands in one room, and opens a turn of its own
// when it is heard there. TS is the time that it was due.
type Fired struct {
	ID      string `arg:"kN"`
	By      string `life:"by,must"`     // who signs the line: cron-brief, job-3
	Trigger string `life:"trigger,opt"` // whose letter it is, where the signer is the owner of a file
	Missed  int    `life:"missed,opt"`  // times before this one that were missed while nothing ran
	Silent  int    `life:"silent,opt"`  // checks before this one that found nothing
	Manual  string `life:"manual,opt"`  // the request of a person for it; no schedule moves
	Seen    string `life:"seen,opt"`    // what its source had looked at, in the source's own words
	Again   string `life:"again,opt"`   // the hash of a line that has gone from its room unheard: it is posted again
	Notice
}

// Fade says that entries were replaced by something shorter. It takes effect
// through the Epoch that follows in the same append.
type Fade struct {
	Entries   Entries `arg:"eA..eB"`
	To        string  `life:"to"`
	Relevance int     `life:"rel"`
}

// Spent is what calls of a model have cost that no Reply tells of.
type Spent struct {
	On    string `life:"on"`
	Calls int    `life:"calls"`
	Tokens
	Estimated bool `life:"estimated=yes"`
}

// Epoch is the line that a resume starts from. Its ref is the snapshot.
type Epoch struct {
	K   int    `arg:"K"`
	Why string `life:"why"`
}

// Resumed says that a process has taken the identity up again.
type Resumed struct {
	Version string `life:"version"`
	Why     string `life:"why,opt"`
}

// Stopped says that the process ended in good order.
type Stopped struct {
	Why string `life:"why"`
}

// Sealed states what the tree over the lines before it is, signed: see docs/proof.md.
// Binary values are base64 without padding.
type Sealed struct {
	Size int64  `life:"size,must"` // lines
	Root string `life:"root,must"`
	Last string `life:"last,opt"` // the address of the newest blob
	Key  string `life:"key,must"` // the public one
	Sig  string `life:"sig,must"`
}

// Moved says that the life goes on in another home.
type Moved struct {
	Custody int `life:"custody,must"` // how often it was handed over
}

// Received says that a home has taken over a life that was handed over, or that its owner
// says is nowhere else. Key is the public key of the home that it is in now.
type Received struct {
	Custody int    `life:"custody,must"`
	Key     string `life:"key,must"`
}

// Erased says that bytes of the life are gone: erased at its owner's wish, or lost.
type Erased struct {
	Why   string       `life:"why"`
	Blobs []Buried     `life:"blob"`
	Lines []ErasedLine `life:"line"`
}

// Labelled gives the moment behind it a name.
type Labelled struct {
	Label string `life:"label,must"`
}

// Notice is a line that the harness says, and where; without Say it says nothing.
type Notice struct {
	Say string `life:"say,opt"`
	Posting
}

// Posting fixes the line of a text that is to be posted: its time, to the
// second, and its rooms.
type Posting struct {
	TS    time.Time `life:"ts,opt"`
	Posts []Place   `life:"post"`
}

// kinds are all events by their first word. Parse refuses what is not here: a life
// with a new kind cannot be opened by an older program.
var kinds = map[string]reflect.Type{}

func init() {
	for _, e := range []Event{
		Boot{}, Joined{}, Left{}, Inbound{}, Asked{}, Run{}, Grant{}, Command{}, Reply{}, Call{}, Result{}, Posted{}, Note{},
		Hint{}, Error{}, Paused{}, Model{}, Fired{}, Fade{}, Spent{}, Epoch{}, Resumed{}, Stopped{}, Sealed{}, Moved{}, Received{},
		Erased{}, Labelled{},
	} {
		t := reflect.TypeOf(e)
		kinds[kind(t)] = t
	}
}

// kind is the first word of an event's line: the name of its type.
func kind(t reflect.Type) string { return strings.ToLower(t.Name()) }
