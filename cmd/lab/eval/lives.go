package eval

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A Life is played before an identity that reads the files it is told to read, and is then asked.
type Life struct {
	Name     string
	Limit    int               // tokens of a request with its answer
	Portions [][]Line          // heard one after the other
	Files    map[string]string // in the workspace, by name
	Asked    []Asked
	Unasked  int // percent of the lines that have to be before a reader that looks nothing up
}

// Asked is a question, or a task, and the words that have to be before an identity that answers it.
type Asked struct {
	Text     string
	Evidence []string
	Rule     bool // no word of it leads to the evidence: only what never fades brings that
}

// Shapes makes a life of each shape: people talk, an agent works on code, a trigger wakes one by night, many people
// speak. The same tree makes the same lives.
func Shapes() []Life {
	var lives []Life
	for i, shape := range []string{"chat", "code", "night", "people"} {
		w := &writer{shape: shape, rng: rand.New(rand.NewPCG(48, uint64(i)))}
		w.Unasked = map[string]int{"chat": 50, "code": 25, "night": 25, "people": 75}[shape]
		w.at = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
		lives = append(lives, w.write())
	}
	return lives
}

// writer writes a life.
type writer struct {
	Life
	shape string
	rng   *rand.Rand
	at    time.Time
}

const (
	steps = 24 // portions
	facts = 8
)

var (
	people = strings.Fields("Ines Tomas Ruth Olaf Bela Nadia Piet Wanda Yusuf Clara Egon Mira")
	places = strings.Fields("boathouse mill orchard chapel quarry bakery lighthouse tannery greenhouse " +
		"observatory cellar stable")
	things = strings.Fields("barometer trombone ladder wardrobe anvil globe harp sundial lantern wheelbarrow clock piano")
	chaff  = strings.Fields("weather soup market bicycle garden holiday coffee neighbour football train recipe film " +
		"haircut winter museum breakfast window letter shoes music river traffic birthday newspaper")
	rules = []Asked{
		{"Please get lunch for the four of us.", []string{"Never order anything with peanuts in it."}, true},
		{"A note to the landlady, if you would.", []string{"Always write to Mrs Quandt in German."}, true},
		{"Shall we phone the carpenter first thing tomorrow?", []string{"Never call the workshop before ten."}, true},
	}
)

// write has a fact in each second portion, and all rules early, among talk or listings about nothing.
func (w *writer) write() Life {
	w.Name, w.Limit, w.Files, w.Asked = w.shape, Small.limit, map[string]string{}, rules
	for n := range steps {
		w.at = w.at.Add(time.Duration(1+w.rng.IntN(5)) * time.Hour)
		fact := ""
		if n%2 == 0 && n/2 < facts {
			fact = w.fact(n / 2)
		}
		if n%5 == 1 && n/5 < len(rules) {
			w.hear(w.person(), rules[n/5].Evidence[0])
		}
		w.step(n, fact)
	}
	w.Portions = slices.DeleteFunc(w.Portions, func(lines []Line) bool { return len(lines) == 0 })
	return w.Life
}

// fact tells something that a question asks for.
func (w *writer) fact(n int) string {
	who, place, thing := people[n], places[n], things[w.rng.IntN(len(things))]
	number := 1000 + w.rng.IntN(9000)
	said, question := "", ""
	switch {
	case w.shape == "people":
		said = fmt.Sprintf("The number of my locker at the %s is %d.", place, number)
		question = fmt.Sprintf("Which number has the locker of %s?", who)
	case w.shape == "chat" && n%2 == 0:
		said = fmt.Sprintf("I hung the spare key of the %s behind the old %s.", place, thing)
		question = fmt.Sprintf("How do I get into the %s?", place)
	case w.shape == "chat":
		said = fmt.Sprintf("Repairing the roof of the %s came to %d euros.", place, number)
		question = fmt.Sprintf("How much did we pay for the roof of the %s?", place)
	case w.shape == "code":
		said = fmt.Sprintf("FAIL: %s_test.go:%d: %s deadlocked in reload", place, number%300, thing)
		question = fmt.Sprintf("Why is the build of the %s red?", place)
	default:
		said = fmt.Sprintf("ALARM: backup of %s stopped at block %d: %s full", place, number, thing)
		question = fmt.Sprintf("How far did the copy of the %s get?", place)
	}
	w.Asked = append(w.Asked, Asked{Text: question, Evidence: []string{said}})
	return said
}

// step has an identity hear of a fact, "" for nothing, or read it in a file.
func (w *writer) step(n int, fact string) {
	if w.shape == "chat" || w.shape == "people" {
		for i := range 14 {
			speaker, said := w.person(), w.talk()
			if i == 5 && fact != "" {
				speaker, said = people[n/2], fact
			}
			w.more(speaker, said)
		}
		w.end()
		return
	}
	name := fmt.Sprintf("%s-%02d.log", w.shape, n)
	var b strings.Builder
	for i := range 40 {
		if i == 20 && fact != "" {
			b.WriteString(fact + "\n")
		}
		fmt.Fprintf(&b, "%04d ok %s %x\n", i, chaff[w.rng.IntN(len(chaff))], w.rng.Uint64())
	}
	w.Files[name] = b.String()
	speaker := w.person()
	if w.shape == "night" {
		speaker = "cron-night"
	}
	w.hear(speaker, "read "+name)
}

func (w *writer) talk() string {
	said := "Well,"
	for range 3 + w.rng.IntN(4) {
		said += " and then the " + chaff[w.rng.IntN(len(chaff))] + " and the " + chaff[w.rng.IntN(len(chaff))]
	}
	return said + "."
}

func (w *writer) person() string {
	most := 2
	if w.shape == "people" {
		most = len(people)
	}
	return people[w.rng.IntN(most)]
}

func (w *writer) hear(speaker, said string) {
	w.more(speaker, said)
	w.end()
}

// more adds a line to the portion that is open.
func (w *writer) more(speaker, said string) {
	if len(w.Portions) == 0 {
		w.end()
	}
	w.at = w.at.Add(time.Minute)
	last := &w.Portions[len(w.Portions)-1]
	*last = append(*last, Line{Speaker: speaker, Agent: strings.HasPrefix(speaker, "cron-"), Text: said, At: w.at})
}

func (w *writer) end() { w.Portions = append(w.Portions, nil) }

// Life makes one of a conversation. Short lines are told from others by who said them, and when.
func (c Conversation) Life() Life {
	life := Life{Name: c.Name, Limit: Small.limit, Portions: portions(c, Small.portion)}
	const unlike = 40 // bytes
	said := map[string]string{}
	for _, l := range c.Lines {
		said[l.ID] = l.Text
		if raw, err := format(l); err == nil && len(l.Text) < unlike {
			said[l.ID] = string(raw)
		}
	}
	for _, q := range c.Questions {
		asked := Asked{Text: q.Text}
		for _, id := range q.Evidence {
			asked.Evidence = append(asked.Evidence, said[id])
		}
		life.Asked = append(life.Asked, asked)
	}
	return life
}
