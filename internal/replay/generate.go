package replay

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"

	"lethe/llm/rehearsal"
)

// Generate writes a trace of at least so many tokens (as rehearsal.Tokens
// counts its texts) that looks like the log of a coding agent: issues, file
// listings, reads, searches, edits and test runs that fail and then pass, remarks
// and standing rules of people, and now and then an output of 20 to 60 KB. Sizes
// follow power laws. The same tokens and seed give the same bytes.
//
// It stops at the end of a piece of work, so a long trace is up to some 20,000
// tokens longer than asked for.
func Generate(w io.Writer, tokens int, seed uint64) error {
	g := newGenerator(w, seed)
	for g.written < tokens && g.err == nil {
		g.issue()
	}
	return g.err
}

// generator is a made-up project and the people and the agent at work on it.
type generator struct {
	out     *Writer
	rng     *rand.Rand
	written int // tokens
	err     error

	project string
	people  []string
	files   []file
	issues  int
	commits int
}

// file is a source file of the project; edits go through its functions.
type file struct {
	path  string
	funcs []string
}

func newGenerator(w io.Writer, seed uint64) *generator {
	g := &generator{out: NewWriter(w), rng: rand.New(rand.NewPCG(seed, 0x6c65746865))}
	g.project = g.pick(nouns) + "-" + g.pick(things)
	for range 5 {
		g.people = append(g.people, g.pick(names))
	}
	for range 40 {
		g.newFile()
	}
	return g
}

func (g *generator) put(kind, text string) {
	if g.err != nil {
		return
	}
	g.written += rehearsal.Tokens(text)
	g.err = g.out.Write(Item{kind, text})
}

func (g *generator) pick(list []string) string { return list[g.rng.IntN(len(list))] }
func (g *generator) chance(p float64) bool     { return g.rng.Float64() < p }

// between is a number of [low, high], small ones more often.
func (g *generator) between(low, high int) int {
	return low + int(float64(high-low+1)*math.Pow(g.rng.Float64(), 1.7))
}

// pareto is a size of [low, high] with a power-law tail: P(size > s) ~ s^-alpha.
func (g *generator) pareto(low, high int, alpha float64) int {
	return min(high, int(float64(low)*math.Pow(1-g.rng.Float64(), -1/alpha)))
}

func (g *generator) newFile() *file {
	f := file{path: fmt.Sprintf("%s/%s/%s_%s.go", g.pick(roots), g.pick(nouns), g.pick(nouns), g.pick(things))}
	for range 3 + g.rng.IntN(8) {
		f.funcs = append(f.funcs, g.ident())
	}
	g.files = append(g.files, f)
	return &g.files[len(g.files)-1]
}

// ident is a name as a programmer makes it.
func (g *generator) ident() string {
	n := g.pick(verbs) + title(g.pick(nouns))
	if g.chance(0.5) {
		n += title(g.pick(things))
	}
	return n
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (g *generator) hex(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte("0123456789abcdef"[g.rng.IntN(16)])
	}
	return b.String()
}

// work is one issue: what it is about, and the files it touches.
type work struct {
	number  int
	topic   string
	symptom string
	files   []*file
	failing string // the test that shows it
}

// issue plays one issue from its report to the answer that closes it.
func (g *generator) issue() {
	g.issues++
	if g.chance(0.4) {
		g.newFile()
	}
	w := &work{number: 100 + g.issues, topic: g.pick(nouns) + " " + g.pick(things), symptom: g.pick(symptoms)}
	for range 2 + g.rng.IntN(4) {
		w.files = append(w.files, &g.files[g.rng.IntN(len(g.files))])
	}
	w.failing = "Test" + title(g.ident())
	g.put(User, g.report(w))
	g.explore(w)
	for round := range 1 + g.rng.IntN(3) {
		if g.chance(0.2) {
			g.remark(w)
		}
		g.change(w)
		g.test(w, round == 0 && g.chance(0.6))
	}
	g.finish(w)
	if g.chance(0.25) {
		g.put(User, g.smallTalk())
		g.put(Asst, g.pick(replies))
	}
}

// explore looks around: listings, searches, reads.
func (g *generator) explore(w *work) {
	g.act(fmt.Sprintf("I start with #%d: where %s is handled, and what the tests say about it.", w.number, w.topic), g.listing(w))
	for range g.between(3, 12) {
		f := w.files[g.rng.IntN(len(w.files))]
		fn := g.pick(f.funcs)
		switch g.rng.IntN(5) {
		case 0:
			g.act(fmt.Sprintf("Searching for the callers of %s.\n$ grep -rn %q --include=*.go .", fn, fn), g.grep(fn))
		case 1:
			g.act(fmt.Sprintf("%s and its neighbours, side by side.\n$ cat %s", fn, f.path), g.source(f), g.grep(fn))
		case 2:
			g.act(fmt.Sprintf("What changed there lately?\n$ git log -n 20 --stat -- %s", f.path), g.gitLog(f))
		default:
			g.act(fmt.Sprintf("%s %s\n$ sed -n '%d,$p' %s", g.pick(thoughts), fn, 1+g.rng.IntN(200), f.path), g.source(f))
		}
	}
	if g.chance(0.1) {
		g.act(fmt.Sprintf("The log of the failing run should show when %s goes wrong.\n$ cat /tmp/%s.log", w.topic, g.project), g.runLog(w, g.pareto(20_000, 60_000, 1.2)))
	}
}

// act is one request: the agent's words and call, and what the calls gave.
func (g *generator) act(text string, results ...string) {
	g.put(Asst, text)
	for _, r := range results {
		g.put(Tool, r)
	}
}

// change edits a few places.
func (g *generator) change(w *work) {
	for range g.between(1, 5) {
		f := w.files[g.rng.IntN(len(w.files))]
		fn := g.pick(f.funcs)
		g.act(fmt.Sprintf("%s %s in %s:\n%s", g.pick(edits), fn, f.path, g.code(f, fn, g.pareto(500, 6000, 1.3))), g.edited(f))
	}
	if g.chance(0.4) {
		g.act("What I have so far:\n$ git diff", g.diff(w))
	}
}

// edited is what an edit shows: the place, as it reads now.
func (g *generator) edited(f *file) string {
	at := 10 + g.rng.IntN(400)
	var b strings.Builder
	fmt.Fprintf(&b, "edited %s: 1 replacement at line %d. It reads now:\n", f.path, at)
	for i, line := range strings.Split(strings.TrimSpace(g.code(f, g.pick(f.funcs), g.pareto(450, 4000, 1.5))), "\n") {
		fmt.Fprintf(&b, "%5d\t%s\n", at+i, line)
	}
	return b.String()
}

// test runs the tests: red first, when something is still wrong.
func (g *generator) test(w *work, red bool) {
	pkg := "./" + w.files[0].path[:strings.LastIndexByte(w.files[0].path, '/')] + "/..."
	run := fmt.Sprintf("$ go test %s -run '%s|Test%s'", pkg, w.failing, title(w.files[0].funcs[0]))
	if red {
		g.act("Running the tests.\n"+run, g.testRun(w, true))
		g.act(fmt.Sprintf("%s fails: %s. %s\n$ sed -n '1,120p' %s", w.failing, w.symptom, g.pick(thoughts), w.files[0].path), g.source(w.files[0]))
		fn := g.pick(w.files[0].funcs)
		g.act(fmt.Sprintf("%s %s in %s:\n%s", g.pick(edits), fn, w.files[0].path, g.code(w.files[0], fn, g.pareto(300, 3000, 1.4))),
			g.edited(w.files[0]))
	}
	g.act("And again.\n"+run, g.testRun(w, false))
}

// remark is a person's word in the middle of the work; now and then a rule.
func (g *generator) remark(w *work) {
	text := g.pick(remarks)
	if g.chance(0.2) {
		text = g.pick(rules)
	}
	text = strings.NewReplacer("{file}", w.files[0].path, "{func}", g.pick(w.files[0].funcs),
		"{issue}", fmt.Sprintf("#%d", w.number), "{person}", g.pick(g.people)).Replace(text)
	g.put(User, text)
	if g.chance(0.5) {
		g.put(Asst, g.pick(replies))
	}
}

// finish commits and answers.
func (g *generator) finish(w *work) {
	g.commits++
	hash := g.hex(8)
	g.act(fmt.Sprintf("$ git commit -am %q", fmt.Sprintf("%s: %s (#%d)", w.files[0].path, w.topic, w.number)),
		fmt.Sprintf("[fix/%d %s] %s: %s (#%d)\n %d files changed, %d insertions(+), %d deletions(-)",
			w.number, hash, w.files[0].path, w.topic, w.number, len(w.files), 10+g.rng.IntN(90), g.rng.IntN(60)))
	var b strings.Builder
	fmt.Fprintf(&b, "#%d is fixed on branch fix/%d, commit %s. The cause: %s when %s reached %s. ",
		w.number, w.number, hash, w.symptom, g.pick(nouns)+" "+g.pick(things), g.pick(w.files[0].funcs))
	for range 1 + g.rng.IntN(4) {
		fmt.Fprintf(&b, "%s now %s the %s before it %s the %s. ", g.pick(w.files[g.rng.IntN(len(w.files))].funcs),
			g.pick(verbs)+"s", g.pick(things), g.pick(verbs)+"s", g.pick(nouns))
	}
	fmt.Fprintf(&b, "%s covers it. Still open: %s in %s.", w.failing, g.pick(symptoms), g.pick(g.files[g.rng.IntN(len(g.files))].funcs))
	g.put(Asst, b.String())
}
