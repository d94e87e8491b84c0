// Package tools holds the deeds of an agent: speak and move between rooms (SAY, JOIN, LEAVE),
// work with files (READ_FILE, WRITE_FILE, EDIT_FILE, LIST; GLOB and GREP without BASH), run
// commands (BASH), and forget and remember (COMPACT, UNCOMPACT, RECALL). Each tool is code, a
// description for the model (an embedded .md file) and a test.
//
// The smallest use:
//
//	func main() {
//		sandbox.Main() // first thing: readers of files run this binary again
//		…
//		set, err := tools.New(tools.Config{Home: home, AgentDir: dir, Rooms: view, Past: view})
//		request.Tools = set.Schemas()
//		effect, err := set.Intent("LIST", args)
//		res := effect.(tools.Run).Do(ctx, tools.Call{ID: "e12.1", Name: "LIST"})
//	}
//
// What holds:
//
//   - Every Run has a Result, also if it panics or its context ends. A failure advises a next step, because its
//     reader is a model that will try it.
//   - A file tool touches regular files under the workspace, the extra roots, the
//     identity's own few files and the rooms it is in. Nothing else, whatever
//     symbolic links are put in its way, and also when they change under it.
//   - When a BASH call has returned, nothing that it started is alive, unless it goes on
//     as a job: see Set.Jobs. Nothing is alive after Set.Close, nor when the daemon has
//     been killed. A command never sees the daemon's environment.
//   - In sandbox mode a command writes only to the workspace, the extra roots and
//     a private HOME and TMPDIR, and cannot read the home. See package sandbox.
//
// A Set is used by one identity; its Intent may be called from several goroutines.
package tools

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"lethe/agent/tools/catalogue"
	"lethe/internal/sandbox"
	"lethe/internal/screen"
)

// Call is one tool call of a reply.
type Call struct {
	// ID names the call in the life, like "e12.1". It is also the name of the
	// file that keeps an output too long for the result.
	ID string
	// Name is the tool, like "READ_FILE".
	Name string
	// Job is the number that a BASH call gets if it goes on as a job, whose end is told in
	// room JobRoom. Without a number it cannot.
	Job     int
	JobRoom string
	// Most bounds the weight of a page of READ_FILE; 0 sets no bound.
	Most int
	// Life is the identity's hash.
	Life string
	// Output, if not nil, gets what a command writes while it runs.
	Output func([]byte)
}

// Result is the outcome of a call.
type Result struct {
	// Body is text for the model: raw, not escaped, up to Config.MaxOutput bytes
	// and a few lines about it.
	Body []byte
	// Err says that the call failed or, for BASH, that the command did not exit 0.
	Err bool
	// Touched is "MEMORY.md", "SEGMENT.md" or "SUMMARISE.md" when the call
	// changed that file of the identity.
	Touched string
	// Saw is the version of a file that the call has shown or made.
	Saw Version
	// Opened is the address of the blob that is shown.
	Opened string
	// Picture is the picture behind Opened. A model that sees gets it beside Body.
	Picture []byte
	// Job is the number of the job that the call goes on as: see Set.Jobs.
	Job int
	// Bounded says that Body fits, and is shown whole.
	Bounded bool
	// Files came beside Body, and are to be kept.
	Files []catalogue.File
}

// Tool is one tool: what the model is told about it, and what it does.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Schema is a JSON Schema of the arguments, an object.
	Schema json.RawMessage `json:"parameters"`
	// Intent reads the arguments of a call.
	Intent func(args json.RawMessage) (Effect, error) `json:"-"`
}

// MaxArgs bounds the arguments of one call, in bytes of JSON. It is more than
// any model can write in one reply.
const MaxArgs = 4 << 20

// stopGrace bounds the time in which a tool returns once its context has ended.
// A daemon has to be down 2 s after it was asked to stop.
const stopGrace = 1500 * time.Millisecond

// Set is the tools of one identity, in a fixed order. It holds no open files: a root is opened for each call.
type Set struct {
	Config // complete
	*jobs
	tools []Tool
	roots []string // outermost directories of Workspace and ExtraRoots
}

// New checks c and returns its tools. It makes the workspace (0700) if it is
// missing. It fails when the workspace or an extra root would give the tools
// the home, whole or in part.
//
// Unless BASH is off, New also hides the environment that this process was
// started with from other processes: see sandbox.HideEnvironment.
func New(c Config) (*Set, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	s := &Set{
		Config: c, roots: outermost(append([]string{c.Workspace}, c.ExtraRoots...)),
		jobs: &jobs{dir: c.AgentDir, atEnd: c.JobEnded, all: map[int]*command{}},
	}
	s.tools = append(s.roomTools(), s.fileTools()...)
	refused := c.Bash == BashSandbox && len(c.Shell) == 0 && sandbox.Available() != nil // BASH is offered, and no command runs
	withoutBash := c.Bash == BashOff || refused
	if withoutBash || c.Only != nil { // Only leaves them in or out
		s.tools = append(s.tools, runTool("GLOB", s.glob), runTool("GREP", s.grep))
	}
	if c.Bash != BashOff {
		if err := s.makePrivate(privateDir); err != nil {
			return nil, fmt.Errorf("make directory of commands: %w", err)
		}
		sandbox.HideEnvironment()
		s.tools = append(s.tools, s.bashTool())
	}
	s.tools = append(append(s.tools, s.pastTools()...), newTool("SPAWN", Child.effectOf))
	s.tools = append(s.tools, s.webTools()...)
	if len(c.Others) > 0 {
		s.tools = append(s.tools, s.otherTools()...)
		answers, _ := ParseRule("USE */" + catalogue.Answering) // it is one
		s.Ask = append(slices.Clone(s.Ask), answers)
	}
	if c.Only != nil {
		s.tools = slices.DeleteFunc(s.tools, func(t Tool) bool { return !slices.Contains(c.Only, t.Name) })
	}
	return s, nil
}

// Asks reports whether people are to be asked before a call.
func (s *Set) Asks(tool string, args json.RawMessage) bool {
	return slices.ContainsFunc(s.Ask, func(r Rule) bool { return r.Matches(tool, args, s.Workspace) })
}

//go:embed *.md
var descriptions embed.FS

// describe returns the text that tells the model about a tool.
func describe(name string) string {
	b, err := descriptions.ReadFile(strings.ToLower(name) + ".md")
	if err != nil {
		panic(err) // a tool without its description
	}
	return strings.TrimSpace(string(b))
}

// All returns the names of all tools, also of tools that are offered only if something is configured.
func All() (names []string) {
	files, _ := descriptions.ReadDir(".") // it is in the program
	for _, f := range files {
		name := strings.ToUpper(strings.TrimSuffix(f.Name(), ".md"))
		if !strings.HasPrefix(name, "BASH_") { // its modes
			names = append(names, name)
		}
	}
	return names
}

// newTool makes a tool of a function that reads decoded arguments.
func newTool[A any](name string, intent func(a A) (Effect, error)) Tool {
	read := func(args json.RawMessage) (Effect, error) {
		var a A
		if err := Decode(args, &a); err != nil {
			return nil, err
		}
		effect, err := intent(a)
		if err != nil {
			return nil, err
		}
		return effect, nil
	}
	return Tool{Name: name, Description: describe(name), Schema: schemaOf(reflect.TypeFor[A]()), Intent: read}
}

// runTool makes a tool of a function that works beside the agent. An error of it is a failed result.
func runTool[A any](name string, do func(ctx context.Context, c Call, a A) (Result, error)) Tool {
	return newTool(name, func(a A) (Effect, error) {
		return Run(func(ctx context.Context, c Call) Result {
			return resultOf(do(ctx, c, a))
		}), nil
	})
}

func resultOf(r Result, err error) Result {
	if err != nil {
		return failf("%v", err)
	}
	return r
}

// Add appends t to the set. It must not run at the same time as the other methods.
func (s *Set) Add(t Tool) { s.tools = append(s.tools, t) }

// Names returns the names of the tools, in order.
func (s *Set) Names() []string {
	names := make([]string, len(s.tools))
	for i, t := range s.tools {
		names[i] = t.Name
	}
	return names
}

// find returns the tool of a name, or nil.
func (s *Set) find(name string) *Tool {
	i := slices.IndexFunc(s.tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &s.tools[i]
}

// Has reports whether a tool is offered.
func (s *Set) Has(name string) bool { return s.find(name) != nil }

// needless are the tools that a small window has no room for.
var needless = []string{"JOIN", "LEAVE", "WAIT", "COMPACT", "SPAWN"}

// Schemas returns the "tools" array of a request. Its bytes depend only on the
// configuration, on what was added, and on HasOthers: providers cache by exact prefix.
func (s *Set) Schemas() json.RawMessage { return s.schemas(false) }

// Brief returns the array for a small window: the first sentence of each tool that work needs.
func (s *Set) Brief() json.RawMessage { return s.schemas(true) }

func (s *Set) schemas(brief bool) json.RawMessage {
	type entry struct {
		Type     string `json:"type"`
		Function Tool   `json:"function"`
	}
	var list []entry
	hasOthers := s.HasOthers()
	for _, t := range s.tools {
		if brief && slices.Contains(needless, t.Name) {
			continue
		}
		if first, _, isLong := strings.Cut(t.Description, ". "); brief && isLong {
			t.Description = first + "."
		}
		isForOthers := t.Name == "TOOLS" || t.Name == "USE"
		if hasOthers || !isForOthers {
			list = append(list, entry{"function", t})
		}
	}
	return bytes.TrimSpace(screen.JSON(list))
}

// textf is a result of a call that went well.
func textf(format string, args ...any) Result {
	return Result{Body: fmt.Appendf(nil, format, args...)}
}

// failf is a result of a call that did not.
func failf(format string, args ...any) Result {
	return Result{Body: fmt.Appendf(nil, format, args...), Err: true}
}
