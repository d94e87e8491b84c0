// Package mind is the fold: it turns the events of a life into the live
// context, what is owed to whom, and the messages of the next request. It is
// pure. It reads no file, no clock and no socket; the caller brings the
// events (package life) and the blobs they name.
//
//	s := mind.New()
//	for each event e of the log, with the bodies of its refs:
//		err := s.Apply(e, bodies)
//	request := s.Messages("")
//	debts := s.Owed()
//
// The same events always give the same bytes. Inside an epoch, the messages of
// a later request begin with those of an earlier one, byte for byte.
package mind

import (
	"encoding/json"
	"slices"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life/event"
)

// Kinds of entries.
const (
	Inbound = "inbound"
	Reply   = "reply"
	Note    = "note"
	Hint    = "hint"
)

// How a call ended.
const (
	OK          = "ok"
	Failed      = "error"
	Interrupted = "interrupted" // it had started; its effect is unknown
	NotStarted  = "not-started"
)

// Ref is a blob as an entry knows it: the whole address, and how it is shown.
type Ref struct {
	Hash  blobs.Hash `json:"hash"`
	Short string     `json:"short"`
	Gist  string     `json:"gist"`
}

// String renders the ref as it stands in a prompt.
func (r Ref) String() string { return blobs.Ref{Hash: r.Short, Gist: r.Gist}.String() }

// Entry is one item of the live context. Its texts are kept as they are
// rendered: escaped, and clipped to what is shown, so that a context costs no
// more memory than its request. Once it waits for no result nobody changes it: an edit puts
// another one in its place.
type Entry struct {
	N    int       `json:"n"`
	Kind string    `json:"kind"`
	At   time.Time `json:"at"`
	Ref  Ref       `json:"ref"`
	Room string    `json:"room,omitempty"` // of an inbound entry
	Show int       `json:"show,omitempty"` // runes shown of the text; 0 shows all
	// Places: the mark of a cut says which place is left out. Earlier versions did not.
	Places bool `json:"places,omitempty"`
	// Own are the byte ranges of an inbound body that are the identity's own
	// lines, which it does not hear.
	Own []Span `json:"own,omitempty"`
	// Images are pictures that the lines of an inbound entry name, as its event has them.
	Images []string `json:"images,omitempty"`
	// View, when set, is a blob with the text as a person edited it.
	View *Ref   `json:"view,omitempty"`
	Text string `json:"-"`

	// About is the question that the entry answers, or whose call it ends, with the choice or how it ended.
	About *Ref   `json:"about,omitempty"`
	Said  string `json:"said,omitempty"`

	// Of a reply. Text is then its final or accompanying text. Refused: it was final,
	// but did not count.
	Refused   bool    `json:"refused,omitempty"`
	Reasoning string  `json:"-"`
	Opaque    string  `json:"-"` // what its provider wants back as it is
	Calls     []*Call `json:"calls,omitempty"`
	Model     string  `json:"model,omitempty"`
}

// Call is one tool call of a reply, with what became of it. A reply and its
// results are one unit.
type Call struct {
	Tool     string   `json:"tool"`
	Args     string   `json:"-"` // JSON, escaped, as it goes back on the wire
	Original string   `json:"-"` // what the model sent, when that was not JSON
	Opaque   string   `json:"-"` // what its provider wants back as it is
	Started  bool     `json:"started,omitempty"`
	Status   string   `json:"status,omitempty"` // "" while there is no result
	Result   Ref      `json:"result"`
	About    *Ref     `json:"about,omitempty"` // the question that was asked for it
	Show     int      `json:"show,omitempty"`
	Places   bool     `json:"places,omitempty"`
	Images   []string `json:"images,omitempty"` // that it shows
	View     *Ref     `json:"view,omitempty"`
	Text     string   `json:"-"` // of the result, rendered
}

// Span is a range of bytes, [From, To).
type Span = event.Span

// Range is a run of entries that have faded.
type Range struct {
	From      int    `json:"from"` // first entry, inclusive
	To        int    `json:"to"`   // last entry, inclusive
	Level     string `json:"level"`
	Original  Ref    `json:"original"` // a blob with what the entries said
	Relevance int    `json:"relevance,omitempty"`
	Summary   *Ref   `json:"summary,omitempty"` // a blob with the text that replaces them
	Text      string `json:"text,omitempty"`    // that text, escaped: a resume reads no blob for it

	At    time.Time `json:"at,omitzero"`     // of its newest entry
	Epoch int       `json:"epoch,omitempty"` // since which it stands so
	// Of a card: how many ranges its blob lists, and what those are: 1 for
	// gists, 2 for cards of gists, and so on.
	Count int `json:"count,omitempty"`
	Tier  int `json:"tier,omitempty"`
}

// Levels of a faded range.
const (
	Summary = "summary"
	Gist    = "gist"
	Card    = "card"
)

// Talk holds the rooms of an identity, and the lines that it owes them.
type Talk struct {
	Rooms  map[string]*Room `json:"rooms"`
	Outbox []Post           `json:"outbox,omitempty"` // in the order in which they are to be posted
}

// Room is what the identity knows of a room.
type Room struct {
	Joined bool        `json:"joined"`
	Cursor chat.Cursor `json:"cursor"` // how far it has heard
	// Began is where the room ended when it was first subscribed to. What stands
	// before is history: a command there was somebody else's.
	Began int64 `json:"began,omitempty"`
	// Stopped is the end of the newest /stop beyond the cursor that was obeyed
	// already. What stands before it owes nothing when it is heard.
	Stopped int64 `json:"stopped,omitempty"`
	// Own are lines beyond the cursor that are not to be heard, in order: its own,
	// and commands that were obeyed already. Posted are the hashes of its latest own, and of commands.
	Own    []Span   `json:"own,omitempty"`
	Posted []string `json:"posted,omitempty"`
	// AgentTurns counts turns in a row that answered agents only.
	AgentTurns int `json:"agent_turns,omitempty"`
}

// Post is a line that is owed to a room: recorded before it is appended, so that
// after a crash it can be looked for and is never written twice.
type Post struct {
	ID        string `json:"id"` // e12 (a final reply), e12.1 (SAY), k3 (the harness)
	Room      string `json:"room"`
	Line      string `json:"line"` // the exact line, with its newline
	chat.Mark        // the room's end at the intent
	Wakes     bool   `json:"wakes,omitempty"` // somebody else signs it, and it is heard like any line
}

// Wake is a line that wakes the identity, from its Fired to the end of the turn
// that it opens.
type Wake struct {
	By    string `json:"by"`
	Room  string `json:"room"`
	Hash  string `json:"hash"`           // of the line
	Line  string `json:"line,omitempty"` // until it is heard
	Heard bool   `json:"heard,omitempty"`
}

// Job is a command that goes on although its call has a result. Its end is a Fired.
type Job struct {
	ID   int    `json:"id"`
	Room string `json:"room"` // where its end is told
}

// Alarms are the lines that wake the identity by themselves.
type Alarms struct {
	Wakes []Wake `json:"wakes,omitempty"` // lines that are not answered yet
	// Fires holds the newest firing of each signer. The key is the signer, or for a trigger with a letter
	// "SIGNER TRIGGER".
	Fires map[string]Firing `json:"fires,omitempty"`
}

// Firing is the newest Fired of one signer.
type Firing struct {
	Last  time.Time `json:"last"` // when it was due; one that a person asked for does not count
	Seen  string    `json:"seen,omitempty"`
	Asked string    `json:"asked,omitempty"` // the request that it obeyed
	Count int       `json:"count"`
}

// Params are the parts of a request beside its messages. They change only with
// an epoch.
type Params struct {
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	Thinking  string `json:"thinking,omitempty"`
	Effort    string `json:"effort,omitempty"`
	Order     string `json:"order,omitempty"`    // "tail" puts MEMORY and LIFE last
	Endpoint  string `json:"endpoint,omitempty"` // who serves the model
	Asked     string `json:"asked,omitempty"`    // the model that was configured then
	Sees      bool   `json:"sees,omitempty"`     // pictures are shown to the model
}

// Stable is what every request of an epoch begins with, verbatim, so that a
// resume by a newer program sends the same bytes.
type Stable struct {
	System string `json:"system"`
	Past   string `json:"past"`
	Tools  string `json:"tools,omitempty"` // JSON, as text: inside JSON it would come back as other bytes
	Params Params `json:"params"`
	// Indented: messages show notes as Indent renders them. In the epochs of earlier versions they do not.
	Indented bool `json:"indented,omitempty"`
	// Since is the number of the first entry whose Opaque goes back to the provider. That of earlier entries was made
	// behind another prefix, and providers refuse it there.
	Since int `json:"since,omitempty"`
}

// Context is what a request shows of the past, oldest first.
type Context struct {
	Faded []Range  `json:"faded,omitempty"`
	Pins  []Pin    `json:"pins,omitempty"` // rules and promises
	Live  []*Entry `json:"live,omitempty"`
	// Overtaken has the ranges of which something no longer holds, by Range.Name, each with the last entry of what has
	// overtaken it. A range that has gone on a card stays in it.
	Overtaken map[string]int `json:"overtaken,omitempty"`
}

// Become makes the State what next is, and returns what it was. Nobody uses next after that.
func (s *State) Become(next *State) (was *State) {
	before := *s
	*s = *next
	return &before
}

// Forget returns the state with a context in which entries have faded. s itself is
// not changed. last is the newest blob of those that the context refers to.
func (s *State) Forget(c Context, last blobs.Hash) *State {
	next := *s
	next.Context, next.LastBlob = c, last
	return &next
}

// Forgot returns the state without the oldest n of Forgets, which were dealt with.
func (s *State) Forgot(n int) *State {
	next := *s
	next.Forgets = slices.Clone(s.Forgets[n:])
	return &next
}

// State is a life folded: everything that the next step depends on. Its parts are embedded, so a caller reads
// state.Rooms or state.Owes. Each part holds the rules that need only its own fields; a rule that needs several parts
// is a method of State. A snapshot is the state in JSON: the order of fields and parts is a format.
type State struct {
	Self    string `json:"self"` // the identity, in hex
	Name    string `json:"name"`
	Version string `json:"version"` // the program that wrote the epoch

	Epoch   int    `json:"epoch"`
	Size    int    `json:"-"` // bytes of the newest snapshot
	Stable  Stable `json:"stable"`
	Context        // the entries, live and faded
	Next    int    `json:"next"` // number of the next entry

	Talk       // rooms, and lines owed to them
	Due        // the answer that is owed now
	Tally      // counts of turns, steps and failures
	Alarms     // lines that wake the identity
	Inquiries  // questions to people, and approved calls
	Background // commands that go on
	Knowledge  // texts, tools and blobs that it knows
	Family     // its children, and its own task
	NextEpoch  // wishes for the next epoch

	Ancestors []Ancestor `json:"ancestors,omitempty"` // the lives that a fork descends from, oldest first

	Custody int  `json:"custody,omitempty"` // times that the life was handed over to another home
	Moved   bool `json:"moved,omitempty"`   // the life goes on in another home

	LastBlob blobs.Hash `json:"last_blob"` // parent of the next blob

	Usage   Usage           `json:"usage"`
	Carried json.RawMessage `json:"spending,omitempty"` // see Carry
}

// Due is the answer that the identity owes now: to which rooms, and why it may have to wait.
type Due struct {
	// Owes is true if a model call is due: the identity heard something or a tool returned, and no reply followed.
	Owes    bool      `json:"owes,omitempty"`
	Waiting []string  `json:"waiting,omitempty"` // rooms whose users wait for this turn
	Said    []string  `json:"said,omitempty"`    // rooms that hear a SAY of this turn
	Peers   []string  `json:"peers,omitempty"`   // rooms where only agents wait
	Spoken  bool      `json:"spoken,omitempty"`  // a user spoke in the turn under way
	Told    string    `json:"told,omitempty"`    // the trouble since the last reply that the rooms know of
	Paused  string    `json:"paused,omitempty"`  // the reason to make no model call until someone acts; "": it may
	Until   time.Time `json:"until,omitzero"`    // the end of a pause for a budget; zero: someone has to act
}

// resume ends a pause.
func (d *Due) resume() { d.Paused, d.Until = "", time.Time{} }

// end forgets who waits for the turn that ends.
func (d *Due) end() {
	d.Owes, d.Spoken = false, false
	d.Waiting, d.Said, d.Peers = nil, nil, nil
}

// oweUsers makes a turn owe its answer to the people in a room.
func (d *Due) oweUsers(room string) {
	d.Waiting = with(d.Waiting, room)
	d.Peers = without(d.Peers, func(peer string) bool { return peer == room })
}

// oweAgents makes a turn owe its answer to the agents in a room, unless it owes it to people there.
func (d *Due) oweAgents(room string) {
	if !slices.Contains(d.Waiting, room) {
		d.Peers = with(d.Peers, room)
	}
}

// Tally counts turns and steps, and failures in a row, for which there are bounds.
type Tally struct {
	Turn    int `json:"turn"`          // turns finished
	Steps   int `json:"steps"`         // model calls since a user last spoke
	Notices int `json:"notices"`       // lines of the harness so far
	Cut     int `json:"cut,omitempty"` // answers in a row that were cut off
	// Window is the largest request, in tokens, that the provider was seen to take after it refused one; 0 before.
	Window    int    `json:"window,omitempty"`
	Overflows int    `json:"overflows,omitempty"` // requests in a row that were too large
	LastCall  string `json:"last_call,omitempty"` // digest of the last call with its result
	Repeats   int    `json:"repeats,omitempty"`   // times that LastCall came in a row
	// Refusals are the digests of this turn's final answers that were refused.
	Refusals []string `json:"refusals,omitempty"`
}

// newTurn starts the bounds of a turn anew.
func (t *Tally) newTurn() { t.Steps, t.Cut = 0, 0 }

// end counts a turn that ends.
func (t *Tally) end() {
	t.Turn++
	t.Refusals = nil
}

// repeat counts how often the same call with the same result came in a row.
func (t *Tally) repeat(call string) {
	if call == t.LastCall {
		t.Repeats++
	} else {
		t.LastCall, t.Repeats = call, 1
	}
}

// Background is the list of commands that go on although their calls have results.
type Background struct {
	Jobs    []Job `json:"jobs,omitempty"` // jobs whose end is not recorded yet
	LastJob int   `json:"last_job,omitempty"`
}

// NextEpoch holds wishes that the next epoch carries out.
type NextEpoch struct {
	// Forgets are ranges that are to fade as soon as possible.
	Forgets []event.Entries `json:"forgets,omitempty"`
	// WantModel is the model for the next epoch; "": the present one.
	WantModel string `json:"want_model,omitempty"`
	// Away is a model that does not answer, while another one stands in for it.
	Away string `json:"away,omitempty"`
}

// Usage counts the cost of the whole life, and holds the size of the last request, which tells the tokens per character.
type Usage struct {
	Replies    int64   `json:"replies"`
	Input      int64   `json:"input"`  // tokens
	Cached     int64   `json:"cached"` // tokens of Input that the provider's cache served
	Output     int64   `json:"output"` // tokens
	USD        float64 `json:"usd"`
	LastWeight int64   `json:"last_weight"` // weighted characters of the last request; see package message
	LastInput  int64   `json:"last_input"`  // tokens that the provider counted for it
}

// New returns the state before the first event.
func New() *State {
	state := &State{Next: 1}
	state.Rooms = map[string]*Room{}
	state.Files = map[string]string{}
	state.Grants = map[string]bool{}
	state.Fires = map[string]Firing{}
	return state
}

// room returns the named room, made if it is new.
func (t *Talk) room(name string) *Room {
	r := t.Rooms[name]
	if r == nil {
		r = &Room{}
		t.Rooms[name] = r
	}
	return r
}

// Final reports whether an entry ends a turn: a reply that counts, and calls nothing or asks people last.
func (e *Entry) Final() bool {
	n := len(e.Calls)
	return e.Kind == Reply && !e.Refused && (n == 0 || e.Calls[n-1].asks())
}

// asks reports whether a call has asked people and so ended the turn.
func (c *Call) asks() bool { return c.Status == OK && c.About != nil }

// Entry returns the live entry n, or nil.
func (c Context) Entry(n int) *Entry {
	return c.newest(func(e *Entry) bool { return e.N == n })
}

// Unit returns the newest reply, or nil when there is none.
func (c Context) Unit() *Entry {
	return c.newest(func(e *Entry) bool { return e.Kind == Reply })
}

func (c Context) newest(is func(*Entry) bool) *Entry {
	for _, e := range slices.Backward(c.Live) {
		if is(e) {
			return e
		}
	}
	return nil
}
