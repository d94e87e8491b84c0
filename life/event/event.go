// Package event has a type for each kind of event that LIFE.md records, as
// docs/life.md lists them under "Events".
//
//	err := log.Append(event.Line(now, event.Left{Room: "dev"}))
//	e, err := event.Parse(line)
//	switch e := e.(type) {
//	case event.Left: // e.Room
//
// A field tagged arg is an argument of the line; a field tagged life is a key=value
// field. If a line lacks a key, the field is zero; Parse ignores keys that the type
// lacks. So it reads the lines of older and newer programs. A value must have its
// form: a malformed number is an error, never 0.
package event

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/life"
)

// Event is a value of one of the types below. Its line has its time and its refs.
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
	Parent  string `life:"parent,opt"` // the name of its parent, if it is a child
	Task    string `life:"task,opt"`   // the room of its work, if it is a child
	Fork    Moment `life:"fork,opt"`   // the moment of another life whose mind it begins with, if it is a fork
}

// Joined records that a link to a room has appeared: entry N, a note.
type Joined struct {
	N     int    `arg:"eN"`
	Room  string `life:"room,must"`
	First *First // nil if the identity heard the room before
}

// First is the place at which a first subscription begins to hear a room.
type First struct {
	Inode  uint64 `life:"inode"`
	At     int64  `life:"at,must"` // offset, in bytes
	Before string `life:"before"`
	Last   Hashes `life:"last"`
	Total  int    `life:"total"`   // lines in the room
	End    int64  `life:"end,opt"` // commands before this offset are history
}

// Left records that the link to a room has gone.
type Left struct {
	Room string `life:"room,must"`
}

// People are the readers of something. A name * is everybody.
type People struct {
	Names  []string `life:"reader"`
	Nobody bool     `life:"nobody=yes"` // Names is empty
}

// Readers records who may read a room, as its people say.
type Readers struct {
	Room string `life:"room,must"`
	People
}

// Audience records who may read what the identity says: its own look at its rooms, or the word of the person By.
type Audience struct {
	By string `life:"by,opt"`
	People
}

// Passage is a range of a room, and the room's cursor behind it.
type Passage struct {
	Room   string `life:"room,must"`
	Inode  uint64 `life:"inode"`
	At     Span   `life:"at,must"`
	Before string `life:"before"`
}

// Inbound records that lines of a room became entry N.
type Inbound struct {
	N int `arg:"eN"`
	Passage
	Lines  int      `life:"lines"`
	Own    []Span   `life:"own"`         // parts of the ref's text that the identity does not hear
	Moved  bool     `life:"moved=yes"`   // another file has replaced the room: earlier offsets mean nothing
	Asleep bool     `life:"wake=no"`     // it owes no answer
	Show   int      `life:"show,opt"`    // runes of the ref's text that are shown; 0: all
	Places bool     `life:"mark=places"` // the mark of a cut names the place that is left out
	Images []string `life:"image"`       // the pictures in the lines: ADDRESS:WIDTHxHEIGHT of each, in pixels
	// Answers is the id of the question that the one line answers. Choice is one of its options.
	Answers string `life:"answers,opt"`
	Choice  string `life:"choice,opt"`
	// Struck are lines that held a secret: HASH:WRITTEN, the chat.Hash in the ref's text and in the room.
	Struck []string `life:"struck"`
}

// Written returns the chat.Hash in the room of a line of the ref's text, which has the given hash.
func (i Inbound) Written(hash string) string {
	for _, pair := range i.Struck {
		if written, ok := strings.CutPrefix(pair, hash+":"); ok {
			return written
		}
	}
	return hash
}

// Asked records a question to people, in the first room of Posts. Its ref is the question.
type Asked struct {
	ID   string `arg:"kN"`
	Call string `life:"call,must"` // a WAIT, or the call to approve
	Posting
}

// Run records that an approved call is about to run; ID is the question's id. A Note with the ID ends it.
type Run struct {
	ID     string `arg:"ID"`
	Tool   string `arg:"TOOL"`
	Child  string `life:"child,opt"` // the name of the identity that a SPAWN makes
	Change        // of a WRITE_FILE or EDIT_FILE
	Notice        // the line of a SAY, or the brief of a SPAWN
}

// Grant records that a user mentioned a blob of another life.
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
	Last  string `life:"last,opt"`  // the hash of a line that is not recorded as it was written
	Early bool   `life:"early=yes"` // the identity has not heard the lines before it
	Moved bool   `life:"moved=yes"`
	Model string `life:"model,opt"`
	// Raise is the number of dollars that a person adds to the limit Of of the budget, on Day.
	Raise  float64 `life:"raise,opt"`
	Of     string  `life:"of,opt"`
	Day    string  `life:"day,opt"`
	Relay  []Place `life:"relay"`      // rooms of children that get the line, too
	Forget Entries `life:"forget,opt"` // whole turns in this range are to fade
	Notice
}

// Tokens is the usage of calls of a model.
type Tokens struct {
	In     int64   `life:"in"`
	Cached int64   `life:"cached"`
	Out    int64   `life:"out"`
	USD    float64 `life:"usd"`
	Day    string  `life:"day,opt"`  // the local day that USD counts for; "" if USD is 0
	Hold   int     `life:"hold,opt"` // the hold of money that this settles; see package budget
}

// Add adds further usage of the same day.
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
	Weight int64  `life:"weight"` // the request's weighted characters
	Finish string `life:"finish"` // the provider's reason to end
	Posting
	Refused bool     `life:"refused=yes"` // it is posted nowhere, and the turn goes on
	Caveat  string   `life:"caveat,opt"`  // a text that the posted line adds
	Passed  []string `life:"passed,opt"`  // digests of steps of plans whose checks have passed
	// Withdrawn are the ids of questions about steps that are no longer as they were.
	Withdrawn []string `life:"withdrawn,opt"`
	// Checks are changes of the checks of plans: DIGEST=PLAN/STEP, without a digest where it is gone.
	Checks []string `life:"checks,opt"`
}

// Call records that a tool is about to run.
type Call struct {
	ID    string `arg:"eN.k"`
	Tool  string `arg:"TOOL"`
	Child string `life:"child,opt"` // the name of the identity that a SPAWN makes
	Change
	Posting
}

// Change is a change of a file that a call is about to make.
type Change struct {
	Makes File `life:"makes,opt"` // the version that it makes
	Kept  bool `life:"kept=yes"`  // the last ref is the text that it replaces
}

// Result records the result of a call.
type Result struct {
	ID     string   `arg:"eN.k"`
	Tool   string   `arg:"TOOL"`
	Status string   `life:"status,must"`
	Show   int      `life:"show,opt"`
	Places bool     `life:"mark=places"`
	File   File     `life:"file,opt"`   // the own file that the tool has written
	Saw    File     `life:"saw,opt"`    // the version of a file that the call has shown or made
	Opened string   `life:"opened,opt"` // the address of a blob that was shown
	Images []string `life:"image"`      // pictures in the result; see Inbound
	Job    int      `life:"job,opt"`    // the job as which the call goes on; 0: it has ended
	// Withdrawn is the id of a question that the call has taken back.
	Withdrawn string `life:"withdrawn,opt"`
}

// Posted records that an owed line stands in its room.
type Posted struct {
	ID string `arg:"ID"`
	Passage
	Torn []Span `life:"torn"` // the rests of attempts that were cut off
}

// Note is a message of the harness to the agent, entry N.
type Note struct {
	N      int    `arg:"eN"`
	Why    string `life:"why"`
	File   File   `life:"file,opt"`
	Saw    File   `life:"saw,opt"` // of the Run; see Result
	Show   int    `life:"show,opt"`
	Places bool   `life:"mark=places"`
	Run    string `life:"run,opt"`    // the ID of the Run that has ended
	Status string `life:"status,opt"` // the end of that Run; see Result
	Job    int    `life:"job,opt"`    // the job as which the Run goes on; 0: it has ended
	Back   string `life:"back,opt"`   // after a return to an earlier context, its newest entry: e39
}

// Hint names blobs that the agent has forgotten, in entry N.
type Hint struct {
	N    int      `arg:"eN"`
	Why  string   `life:"why"`
	Refs []string `life:"ref"` // whole addresses
}

// Error records a failure after which the identity goes on.
type Error struct {
	ID      string `arg:"kN"`
	What    string `life:"what"`
	Failure string `life:"kind,opt"`
	Window  int    `life:"window,opt"` // the most tokens of later requests
	Text    string `life:"text"`
	Notice
}

// Paused records that the identity calls no model until a person acts.
type Paused struct {
	ID    string `arg:"kN"`
	Why   string `life:"why"`
	Ended bool   `life:"turn=ended"` // there is no pause: the identity only gives up the turn
	// Until is the time at which the identity goes on by itself after a pause for a budget. A person ends such a pause
	// earlier only by a command that acts on it.
	Until time.Time `life:"until,opt"`
	Notice
}

// Model records the model for the next requests. A Command may choose one, too.
type Model struct {
	ID   string `arg:"kN"`
	Use  string `life:"use,opt"` // "": another model was tried in vain
	For  string `life:"for,opt"` // the wanted model, which does not answer at present
	Text string `life:"text"`
	Notice
}

// Fired records a trigger or the end of a job that woke the identity. Its line
// stands in one room, with its source as the signer, and opens a turn of its own
// when it is heard there. TS is the time at which it was due.
type Fired struct {
	ID      string `arg:"kN"`
	By      string `life:"by,must"`     // the signer of the line: cron-brief, job-3
	Trigger string `life:"trigger,opt"` // the trigger of the letter, if the signer is the owner of a file
	Missed  int    `life:"missed,opt"`  // earlier times that were missed while the identity did not run
	Silent  int    `life:"silent,opt"`  // earlier checks that found nothing
	Manual  string `life:"manual,opt"`  // a person's request for it; it moves no schedule
	Seen    string `life:"seen,opt"`    // the state that its source has looked at, in the source's own form
	Again   string `life:"again,opt"`   // the hash of a line that vanished unheard from its room, and is posted again
	Notice
}

// Fade records that entries were replaced by a shorter text. It takes effect
// through the Epoch behind it in the same append.
type Fade struct {
	Entries   Entries `arg:"eA..eB"`
	To        string  `life:"to"`
	Relevance int     `life:"rel"`
}

// Spent records the cost of calls of a model that led to no Reply.
type Spent struct {
	On    string `life:"on"`
	Calls int    `life:"calls"`
	Tokens
	Estimated bool `life:"estimated=yes"`
}

// Epoch is the line at which a resume starts. Its ref is the snapshot.
type Epoch struct {
	K   int    `arg:"K"`
	Why string `life:"why"`
}

// Resumed records that a process runs the identity again.
type Resumed struct {
	Version string `life:"version"`
	Why     string `life:"why,opt"`
}

// Stopped records that the process ended in good order.
type Stopped struct {
	Why string `life:"why"`
}

// Sealed states the tree over the lines before it, and signs it: see docs/check.md.
// Binary values are base64 without padding.
type Sealed struct {
	Size int64  `life:"size,must"` // lines
	Root string `life:"root,must"`
	Last string `life:"last,opt"` // the address of the newest blob
	Key  string `life:"key,must"` // the home's public key
	Sig  string `life:"sig,must"`
}

// Moved records that the life goes on in another home.
type Moved struct {
	Custody int `life:"custody,must"` // times that it was handed over, this one included
}

// Received records that a home has taken over a life: it was handed over, or its owner says that
// it is nowhere else. Key is the public key of this home.
type Received struct {
	Custody int    `life:"custody,must"`
	Key     string `life:"key,must"`
}

// Erased records that bytes of the life are gone: erased at its owner's wish, or lost.
type Erased struct {
	Why   string       `life:"why"`
	Blobs []Buried     `life:"blob"`
	Lines []ErasedLine `life:"line"`
}

// Labelled gives the moment behind it a name.
type Labelled struct {
	Label string `life:"label,must"`
}

// Adopted records a session that another agent had kept, or a part of one. Its last ref is the original; the others are
// pictures that stand in it.
type Adopted struct {
	Agent   string    `life:"agent,must"`
	Session string    `life:"session"`
	Parent  string    `life:"parent,opt"` // the session that it was forked from
	File    string    `life:"file"`       // within the agent's store
	From    time.Time `life:"from,opt"`   // of the first entry
	To      time.Time `life:"to,opt"`     // of the last entry
	Entries int       `life:"entries"`
	Size    int64     `life:"size,opt"`    // of the file, in bytes, if all of it has been adopted
	Changed time.Time `life:"changed,opt"` // the file's time then
	// Relevance, 1 to 9, is in a later line about an original whose gist a model was asked for: the ref has it.
	Relevance int `life:"rel,opt"`
}

// Shelved puts a list of what was adopted from agents into the prompt, in the place of earlier lists of these. Its last
// ref is the list, the others are the lists of months that are new in it.
type Shelved struct {
	Agents   []string `life:"agent"`
	Sessions int      `life:"sessions"`
}

// Notice is a line of the harness, and its rooms. Without Say it has no line.
type Notice struct {
	Say string `life:"say,opt"`
	Posting
}

// Posting fixes the time, to the second, and the rooms of a line that is to be
// posted.
type Posting struct {
	TS    time.Time `life:"ts,opt"`
	Posts []Place   `life:"post"`
}

// kinds maps the first words of lines to the types of events. Parse refuses other
// words, so an older program cannot open a life with a new kind.
var kinds = map[string]reflect.Type{}

func init() {
	for _, e := range []Event{
		Boot{}, Joined{}, Left{}, Inbound{}, Asked{}, Run{}, Grant{}, Command{}, Reply{}, Call{}, Result{}, Posted{},
		Note{}, Hint{}, Error{}, Paused{}, Model{}, Fired{}, Fade{}, Spent{}, Epoch{}, Resumed{}, Stopped{},
		Sealed{}, Moved{}, Received{}, Erased{}, Labelled{}, Adopted{}, Shelved{}, Readers{}, Audience{},
	} {
		t := reflect.TypeOf(e)
		kinds[kind(t)] = t
	}
}

// kind returns the first word of an event's line: the name of its type.
func kind(t reflect.Type) string { return strings.ToLower(t.Name()) }
