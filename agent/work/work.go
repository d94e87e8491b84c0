// Package work reads plans: the files work/NAME.md of a workspace. docs/agents.md#plans has the form. A model writes them,
// and the daemon holds each step that stands as done against its check.
package work

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/blake3"

	"lethe/internal/durable"
)

// Dir is the directory of the plans in a workspace.
const Dir = "work"

// What is larger is an error: bytes of a plan, plans, steps of a plan, and bytes of a file that a step names.
const (
	mostText  = 256 << 10
	mostPlans = 20
	mostSteps = 500
	mostFile  = 64 << 20
)

// Plan is a plan as its file has it.
type Plan struct {
	Name  string // of the file, without its directory
	Goal  string
	Every time.Duration // between two times that the same step is named to the identity; 0 where it never is
	Steps []Step
	// Workers bounds the children that work at once, Most those that begin, USD what all of these cost.
	Workers int
	Most    int
	USD     float64
	Held    bool   // nothing is begun
	Broken  bool   // it cannot be read; Goal says why
	Bounds  string // these three, as people see and confirm them; "" without any
	text    []byte
	beside  []Plan // all that are there
}

// key stands before the steps of a plan in the log, where a space ends it and texts are UTF-8.
func (p Plan) key() string {
	if strings.ContainsFunc(p.Name, func(r rune) bool { return unicode.IsSpace(r) || r == utf8.RuneError }) {
		return p.Signer()
	}
	return p.Name
}

// Step is a step of a plan.
type Step struct {
	Mark   string // "x" done, " " open, "?" asked, ">" with a worker, "!" failed
	What   string // with its number
	Key    string // PLAN/NUMBER, which no other step has
	Worker string // the model of the child that does it, or "yes" for the identity's own; "": it is the identity's
	Check  string // the command of its check
	Person string // who has to look, where that is its check
	Judge  string // what a judge has to see, where that is its check
	Rule   string // its check as the plan has it
	Digest string // of all that its check is about: the step without its mark, and its files; 16 hex digits
	line   string // behind its mark
	work   string // its key, its words as a hash, and its files: what a worker of it has in mind.Child.Step
	after  string // numbers of the steps before it
	files  string // their names
	at     int    // where its mark is in the text; the end of a plan has that of the last step
	isEnd  bool   // it is the end of a plan
}

// String returns what the step is, and its check.
func (s Step) String() string {
	if s.Rule == "" {
		return s.What
	}
	return s.What + " · check: " + s.Rule
}

// Checked reports whether the step has a check: a command, a person or a judge.
func (s Step) Checked() bool { return s.Check+s.Person+s.Judge != "" }

// Read returns the plans of a workspace by name, and an error for those that are Broken. No link leads out of the workspace.
func Read(workspace string) (plans []Plan, err error) { return readAll(workspace, true) }

// Steps is Read without the digests: it reads no file that a step names.
func Steps(workspace string) (plans []Plan, err error) { return readAll(workspace, false) }

func readAll(workspace string, digests bool) (plans []Plan, err error) {
	// Most workspaces have no plans, and each turn looks several times.
	if _, err := os.Lstat(filepath.Join(workspace, Dir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files, err := fs.ReadDir(root.FS(), Dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	var from *os.Root // of the files that steps name
	if digests {
		from = root
	}
	for _, file := range files {
		name := file.Name()
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		var text bytes.Buffer
		plan, problem := Plan{}, fmt.Errorf("%s has more than %d plans: move those that are done", Dir, mostPlans)
		if len(plans) < mostPlans {
			problem = load(root, path.Join(Dir, name), mostText, &text)
		}
		if problem == nil {
			plan, problem = parse(name, text.Bytes(), from)
		}
		if problem != nil {
			plan = Plan{Name: name, Goal: "cannot be read: " + problem.Error(), Broken: true}
			if len(plans) <= mostPlans {
				err = errors.Join(err, fmt.Errorf("read plan %s: %w", name, problem))
			}
		}
		plans = append(plans, plan)
	}
	for n := range plans {
		plans[n].beside = plans
	}
	return plans[:min(len(plans), mostPlans+1)], err
}

// parse reads the text of a plan, and below a root the files that it names.
func parse(name string, text []byte, root *os.Root) (Plan, error) {
	plan := Plan{Name: name, text: text}
	key := plan.key()
	end, files, all, allDone, at := "", "", name, true, 0
	keys := map[string]bool{}
	for _, whole := range strings.SplitAfter(string(text), "\n") {
		line := strings.TrimRight(whole, "\r\n")
		about := line[:strings.IndexByte(line, ':')+1]
		value := line[len(about):]
		switch {
		case about == "# Goal:":
			plan.Goal = strings.TrimSpace(value)
		case about == "done when:":
			end = value
		case about == "every:":
			plan.Every, _ = time.ParseDuration(strings.TrimSpace(value)) // what is no time drives nothing
		case about == "bounds:":
			plan.bound(line)
		case whole == held:
			plan.Held = true
		case isStep(line):
			step := stepOf(line[len("- [x] "):])
			step.Mark, step.at, step.line = line[3:4], at+3, line[len("- [x] "):]
			step.Key = key + "/" + strings.ToValidUTF8(step.Number(), "?")
			for keys[step.Key] { // two steps have one number
				step.Key += "'"
			}
			keys[step.Key] = true
			words := blake3.Sum256([]byte(step.line))
			step.work = fmt.Sprintf("%s %x %s", step.Key, words[:4], strings.Join(namesIn(step.files), " "))
			step.Digest = digest(root, name+line[4:], step.files)
			plan.Steps = append(plan.Steps, step)
			allDone = allDone && step.Mark == "x"
			files += " " + step.files
			all += line[4:]
		}
		at += len(whole)
	}
	if len(plan.Steps) > mostSteps {
		return Plan{}, fmt.Errorf("it has more than %d steps: part it", mostSteps)
	}
	if end != "" && len(plan.Steps) > 0 {
		last := Step{Mark: " ", What: "done when", files: files, at: plan.Steps[len(plan.Steps)-1].at, isEnd: true, Key: key + "/done"}
		last.checkedBy(end)
		if allDone {
			last.Mark, last.Digest = "x", digest(root, all+plan.Goal+end, files)
		}
		plan.Steps = append(plan.Steps, last)
	}
	return plan, nil
}

// bound reads the bounds of a plan. The last line of them counts, and what makes no sense as a whole gives nothing to workers.
func (p *Plan) bound(line string) {
	p.Most, p.USD, p.Workers, p.Bounds = 0, 0, 0, ""
	_, _ = fmt.Sscanf(line, "bounds: %d steps, %g USD, %d workers", &p.Most, &p.USD, &p.Workers)
	isAmount := p.USD >= 0 && !math.IsInf(p.USD, 0) // no NaN is
	if p.Most < 1 || !isAmount || p.Workers < 0 {
		p.Most, p.USD, p.Workers = 0, 0, 0
		return
	}
	p.Bounds = fmt.Sprintf("%d steps, %g USD, %d workers", p.Most, p.USD, p.Workers)
	if p.USD == 0 {
		p.Bounds = fmt.Sprintf("%d steps, %d workers, no limit of their cost", p.Most, p.Workers)
	}
}

// ready returns the steps that are open, and wait for no other.
func (p Plan) ready() (ready []Step) {
	for _, step := range p.Steps {
		if step.Mark == " " && !p.waits(step) && !step.isEnd {
			ready = append(ready, step)
		}
	}
	return ready
}

// waits reports whether a step comes after one that is not done.
func (p Plan) waits(step Step) bool {
	after := namesIn(step.after)
	return slices.ContainsFunc(p.Steps, func(s Step) bool {
		return s.Mark != "x" && !s.isEnd && (step.isEnd || slices.Contains(after, s.Number()))
	})
}

// Brief is what a worker of the step is told.
func (s Step) Brief() string { return strings.TrimSpace(strings.TrimPrefix(s.What, s.Number())) }

// Number returns the first word of a step.
func (s Step) Number() string {
	number, _, _ := strings.Cut(s.What, " ")
	return number
}

func isStep(line string) bool {
	return len(line) > 6 && line[:3] == "- [" && strings.Contains("x ?>!", line[3:4]) && line[4:6] == "] "
}

// stepOf reads what stands behind the mark of a step.
func stepOf(text string) (step Step) {
	fields := strings.Split(text, " · ")
	step.What = fields[0]
	for _, field := range fields[1:] {
		field = strings.TrimSpace(field)
		about := field[:strings.IndexByte(field, ':')+1]
		value := field[len(about):]
		after, isAfter := strings.CutPrefix(field, "after ")
		switch {
		case isAfter:
			step.after = after
		case about == "files:":
			step.files = value
		case about == "worker:":
			step.Worker = cmp.Or(strings.TrimSpace(value), "yes")
		case about == "check:":
			step.checkedBy(value)
		}
	}
	return step
}

// checkedBy reads a check: `a command`, "judge what it has to see", or "ann looks at the page".
func (s *Step) checkedBy(value string) {
	s.Rule = strings.TrimSpace(value)
	first, rest, _ := strings.Cut(s.Rule, " ")
	end := strings.LastIndexByte(s.Rule, '`')
	switch {
	case end > 1 && s.Rule[0] == '`':
		s.Check = s.Rule[1:end]
	case first == "judge":
		s.Judge = rest
	case rest == "looks", strings.HasPrefix(rest, "looks "):
		s.Person = first
	}
}

// digest returns the digest of a text and of files, by their names in a line; "" without a root.
func digest(root *os.Root, about, files string) string {
	if root == nil {
		return ""
	}
	hash := blake3.New()
	_, _ = hash.WriteString(about)
	for _, file := range namesIn(files) {
		one := blake3.New() // so that no bytes pass from one file to the next
		err := load(root, file, mostFile, one)
		fmt.Fprintf(hash, "%x %v\n", one.Sum(nil), err)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

func namesIn(files string) (names []string) {
	for _, file := range strings.Fields(files) {
		if file = strings.Trim(file, ",`"); file != "" {
			names = append(names, file)
		}
	}
	return names
}

func load(root *os.Root, name string, most int64, into io.Writer) error {
	file, err := root.OpenFile(path.Clean(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	n, err := io.Copy(into, io.LimitReader(file, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return err
}

// held is the line that keeps a plan from beginning anything.
const held = "held: lethe work confirm\n"

// Mark gives steps other marks, by their indexes, and holds the plan, or lets it go on.
func (p Plan) Mark(workspace string, marks map[int]string, hold bool) error {
	text := bytes.Clone(p.text)
	for n, mark := range marks {
		text[p.Steps[n].at] = mark[0]
	}
	if p.Held != hold {
		text = bytes.ReplaceAll(text, []byte(held), nil)
	}
	if hold && !p.Held {
		text = append([]byte(held), text...)
	}
	return p.replace(workspace, text)
}

var errChanged = errors.New("it was changed meanwhile: look again")

// replace changes the file. One that was changed since it was read, or is a link, stays as it is: that is an error.
func (p Plan) replace(workspace string, text []byte) error {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := root.OpenRoot(Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	info, err := dir.Lstat(p.Name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // before a new file beside it wakes who waits for changes, again and again
		return errors.New("it is a link")
	}
	isAsRead := func(there fs.FileInfo, name string) bool {
		var now bytes.Buffer
		err := load(dir, name, mostText, &now)
		return err == nil && there.Mode().IsRegular() && bytes.Equal(now.Bytes(), p.text)
	}
	done, err := durable.SwapIn(dir, p.Name, text, info.Mode().Perm(), isAsRead)
	if err == nil && !done {
		err = errChanged
	}
	return err
}
