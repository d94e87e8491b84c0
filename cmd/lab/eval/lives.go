package eval

import (
	"fmt"
	"math/rand/v2"
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
		w.Unasked = map[string]int{"chat": 75, "code": 25, "night": 25, "people": 75}[shape]
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

// told is what each shape tells, and the question for it: of a place, a thing, a number and a person.
var told = map[string][2]string{
	"chat":   {"I hung the spare key of the %[1]s behind the old %[2]s.", "Where is the spare key of the %[1]s?"},
	"code":   {"FAIL: %[1]s_test.go:%[3]d: %[2]s deadlocked in reload", "Why is the build of the %[1]s red?"},
	"night":  {"ALARM: backup of %[1]s stopped at block %[3]d: %[2]s full", "How far did the copy of the %[1]s get?"},
	"people": {"The number of my locker at the %[1]s is %[3]d.", "Which number has the locker of %[4]s?"},
}

// write has a fact in each second portion at first, and all rules, among talk or listings about nothing.
func (w *writer) write() Life {
	w.Name, w.Limit, w.Files, w.Asked = w.shape, Small.limit, map[string]string{}, rules
	for n := range steps {
		w.at = w.at.Add(time.Duration(1+w.rng.IntN(5)) * time.Hour)
		fact := ""
		if n%2 == 0 && n/2 < facts {
			about := []any{places[n/2], things[w.rng.IntN(len(things))], 1000 + w.rng.IntN(9000), people[n/2]}
			fact = fmt.Sprintf(told[w.shape][0], about...)
			question := fmt.Sprintf(told[w.shape][1], about...)
			w.Asked = append(w.Asked, Asked{Text: question, Evidence: []string{fact}})
		}
		if n%5 == 1 && n/5 < len(rules) {
			w.Portions = append(w.Portions, []Line{w.line(w.person(), rules[n/5].Evidence[0])})
		}
		w.Portions = append(w.Portions, w.step(n, fact))
	}
	return w.Life
}

// step has an identity hear of a fact, "" for nothing, or read it in a file.
func (w *writer) step(n int, fact string) (lines []Line) {
	if w.shape == "chat" || w.shape == "people" {
		for range 14 {
			lines = append(lines, w.line(w.person(), w.talk()))
		}
		if fact != "" {
			lines[5].Speaker, lines[5].Text = people[n/2], fact
		}
		return lines
	}
	name := fmt.Sprintf("%s-%02d.log", w.shape, n)
	for i := range 40 {
		if i == 20 && fact != "" {
			w.Files[name] += fact + "\n"
		}
		w.Files[name] += fmt.Sprintf("%04d ok %s %x\n", i, chaff[w.rng.IntN(len(chaff))], w.rng.Uint64())
	}
	line := w.line(w.person(), "read "+name)
	if w.shape == "night" {
		line.Speaker, line.Agent = "cron-night", true
	}
	return []Line{line}
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

func (w *writer) line(speaker, said string) Line {
	w.at = w.at.Add(time.Minute)
	return Line{Speaker: speaker, Text: said, At: w.at}
}

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
