package eval

import (
	"cmp"
	"fmt"
	"html"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"lethe/agent/budget"
	"lethe/agent/llm"
)

// Scores are what the arms reached.
type Scores struct {
	Answers []Answer   `json:"answers"`
	Arms    []Score    `json:"arms"`
	Spent   budget.USD `json:"spent_usd"` // by all runs, with the judges and Lost
	Lost    budget.USD `json:"lost_usd"`  // what calls that were cut off may have cost
	tasks   []string   // by the number of the question; nil of an examination
}

// Score is what an arm reached.
type Score struct {
	Arm        string         `json:"arm"`
	Asked      int            `json:"asked"`
	Answerable int            `json:"answerable"` // that have an answer; Abstained, Exact and F1 are about these
	Right      int            `json:"right"`
	Abstained  int            `json:"abstained"`
	Silent     int            `json:"silent"` // right, where there is no answer
	Exact      int            `json:"exact"`
	F1         float64        `json:"f1"`
	Numbers    int            `json:"numbers"`    // answers with all numbers and dates of the right one
	Numbered   int            `json:"numbered"`   // right answers that have a number
	Agreed     int            `json:"agreed"`     // verdicts of a second judge that are the first one's
	JudgedTwo  int            `json:"judged_two"` // answers that two judges have read
	Usage      llm.Usage      `json:"tokens"`
	USD        budget.USD     `json:"usd"`                 // without the judges
	Played     budget.USD     `json:"played_usd,omitzero"` // before the questions, beside USD
	Seconds    float64        `json:"seconds"`
	Calls      int            `json:"calls"`
	Opened     int            `json:"opened"`
	Ladder     [4]int         `json:"ladder"`            // evidence found, shown, opened; answered
	Against    *[3]float64    `json:"against,omitempty"` // full, or the first identity: difference of accuracy, and its bounds of 95 %
	Kinds      map[string]int `json:"right_by_kind"`
}

// ranks names the steps of Score.Ladder.
var ranks = []string{"found", "shown", "opened", "answered"}

// score counts answers of arms beside those of one. played is what the life of Lethe has cost before its questions.
func (e Examination) score(answers []Answer, arms []string, beside string, played budget.USD) Scores {
	out := Scores{Answers: answers}
	for _, arm := range arms {
		s := Score{Arm: arm, Kinds: map[string]int{}}
		for _, a := range answers {
			if a.Arm == arm {
				s.count(e.Asked[a.Question], a)
			}
		}
		if s.Asked == 0 {
			continue
		}
		s.F1 /= float64(max(1, s.Answerable))
		if arm == "lethe" {
			s.Played = played
		}
		s.Against = against(answers, arm, beside)
		out.Arms = append(out.Arms, s)
	}
	return out
}

// isRight says whether the first judge takes an answer for right. To know nothing is right where there is no answer.
func (a Answer) isRight() bool { return len(a.Verdicts) > 0 && a.Verdicts[0] == "RIGHT" }

func (s *Score) count(q Answerable, a Answer) {
	one := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	s.Asked++
	s.Right += one(a.isRight())
	s.Kinds[q.Kind] += one(a.isRight())
	s.Silent += one(a.isRight() && q.Answer == "")
	given, right := words(a.Text), words(q.Answer)
	if q.Answer != "" {
		s.Answerable++
		s.Abstained += one(len(a.Verdicts) > 0 && a.Verdicts[0] == "ABSTAINED")
		s.Exact += one(slices.Equal(given, right))
		s.F1 += f1(given, right)
	}
	if numbers := slices.DeleteFunc(slices.Clone(right), isWord); len(numbers) > 0 {
		s.Numbered++
		s.Numbers += one(!slices.ContainsFunc(numbers, func(n string) bool { return !slices.Contains(given, n) }))
	}
	if len(a.Verdicts) > 1 {
		s.JudgedTwo++
		s.Agreed += one(a.Verdicts[0] == a.Verdicts[1])
	}
	s.Usage.Input += a.Usage.Input
	s.Usage.Cached += a.Usage.Cached
	s.Usage.Written += a.Usage.Written
	s.Usage.Output += a.Usage.Output
	s.USD += a.USD
	s.Seconds += a.Seconds
	s.Calls += a.Calls
	s.Opened += a.Opened
	for i, yes := range []bool{a.Found, a.Shown, a.Read, a.isRight()} {
		s.Ladder[i] += one(yes)
	}
}

// word finds words and numbers: 1,500 is one, and 7th is 7.
var word = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\d{1,3}(?:,\d{3})+|\d+(?:st|nd|rd|th)\b|[\pL\pN]+`)
})

// months are names of months, as they begin; the month in a date is a number, as 2026-05-07 and May 7, 2026 have it.
var months = strings.Fields("january february march april may june july august september october november december")

// words are the words of an answer that count.
func words(text string) []string {
	all := word().FindAllString(strings.ToLower(text), -1)
	for i, w := range all {
		isNumber := strings.Trim(w[:1], "0123456789") == ""
		if isNumber {
			w = strings.ReplaceAll(strings.TrimRight(w, "stndrh"), ",", "")
			all[i] = cmp.Or(strings.TrimLeft(w, "0"), "0")
		}
		for n, month := range months {
			if len(w) >= 3 && strings.HasPrefix(month, w) {
				all[i] = fmt.Sprint(n + 1)
			}
		}
	}
	return slices.DeleteFunc(all, func(w string) bool { return w == "a" || w == "an" || w == "the" })
}

func isWord(w string) bool { return strings.Trim(w, "0123456789") != "" }

func f1(given, right []string) float64 {
	left, same := slices.Clone(given), 0
	for _, w := range right {
		if i := slices.Index(left, w); i >= 0 {
			left = slices.Delete(left, i, i+1)
			same++
		}
	}
	if len(given)+len(right) == 0 {
		return 1
	}
	return 2 * float64(same) / float64(len(given)+len(right))
}

// against compares an arm with another one, by questions that both have answered; nil where there are no such questions.
func against(answers []Answer, arm, beside string) *[3]float64 {
	right := map[int]float64{}
	of := func(a Answer) float64 {
		if a.isRight() {
			return 1
		}
		return 0
	}
	for _, a := range answers {
		if a.Arm == beside {
			right[a.Question] = of(a)
		}
	}
	var differences []float64
	for _, a := range answers {
		if other, ok := right[a.Question]; ok && a.Arm == arm && arm != beside {
			differences = append(differences, of(a)-other)
		}
	}
	n := len(differences)
	if n == 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(48, 2))
	drawn := make([]float64, 2000)
	mean := 0.0
	for _, d := range differences {
		mean += d / float64(n)
	}
	for i := range drawn {
		for range n {
			drawn[i] += differences[rng.IntN(n)] / float64(n)
		}
	}
	slices.Sort(drawn)
	return &[3]float64{mean, drawn[50], drawn[1949]}
}

// rows are the figures of a report, with its head.
func (s Scores) rows() [][]string {
	rows := [][]string{strings.Split("arm,asked,right,against full (95 %),abstained,right to,exact,F1,numbers,"+
		"judges agree,found,shown,opened,calls,originals,input,cached,written,output,USD,USD of playing,"+
		"USD a right one,tokens a right one,seconds", ",")}
	for _, a := range s.Arms {
		of := func(n, all int) string { return fmt.Sprintf("%d/%d", n, all) }
		each, tokens, beside := "–", "–", "–"
		if a.Right > 0 {
			each = fmt.Sprintf("%.4f", a.dollars())
			tokens = fmt.Sprint((a.Usage.Input + a.Usage.Output) / a.Right)
		}
		if d := a.Against; d != nil {
			beside = fmt.Sprintf("%+.1f %% (%+.1f to %+.1f)", 100*d[0], 100*d[1], 100*d[2])
		}
		rows = append(rows, []string{
			a.Arm, fmt.Sprint(a.Asked), fmt.Sprintf("%.1f %%", 100*mean(a.Right, a.Asked)), beside,
			fmt.Sprint(a.Abstained), fmt.Sprint(a.Silent), fmt.Sprint(a.Exact), fmt.Sprintf("%.2f", a.F1),
			of(a.Numbers, a.Numbered), of(a.Agreed, a.JudgedTwo),
			fmt.Sprint(a.Ladder[0]), fmt.Sprint(a.Ladder[1]), fmt.Sprint(a.Ladder[2]),
			fmt.Sprint(a.Calls), fmt.Sprint(a.Opened),
			fmt.Sprint(a.Usage.Input), fmt.Sprint(a.Usage.Cached), fmt.Sprint(a.Usage.Written), fmt.Sprint(a.Usage.Output),
			a.USD.String(), a.Played.String(), each, tokens, fmt.Sprintf("%.0f", a.Seconds)})
	}
	if s.tasks == nil {
		return rows
	}
	rows[0][0], rows[0][3] = "identity", "against "+s.Arms[0].Arm+" (95 %)"
	for i, row := range rows { // what is about questions with one right answer goes
		rows[i] = slices.Concat(row[:4], row[9:10], row[13:20], row[21:])
	}
	return rows
}

// each are the verdicts and dollars of each task, an identity beside the other, with their head.
func (s Scores) each() (rows [][]string) {
	head := []string{"task"}
	for _, arm := range s.Arms {
		head = append(head, arm.Arm)
	}
	rows = append(rows, head)
	for i, task := range s.tasks {
		row := []string{task}
		for _, arm := range s.Arms {
			cell := "–"
			for _, a := range s.Answers {
				if a.Arm == arm.Arm && a.Question == i {
					cell = fmt.Sprintf("%s, %d calls, %s USD", cmp.Or(strings.ToLower(strings.Join(a.Verdicts, "/")), "not judged"), a.Calls, a.USD)
				}
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// String is the table, a column for each arm.
func (s Scores) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	rows := s.rows()
	for i := range rows[0] {
		for _, row := range rows {
			fmt.Fprint(w, row[i], "\t")
		}
		fmt.Fprintln(w)
	}
	if s.tasks != nil {
		for _, row := range s.each() {
			fmt.Fprintln(w, strings.Join(row, "\t"))
		}
	}
	w.Flush()
	fmt.Fprintf(&b, "spent with playing and judges: %s USD\n", s.Spent-s.Lost)
	if s.Lost > 0 {
		fmt.Fprintf(&b, "calls that were cut off may have cost %s USD more\n", s.Lost)
	}
	return b.String()
}

// Page is the report as one HTML file with its pictures.
func (s Scores) Page() string {
	var b strings.Builder
	b.WriteString("<!doctype html><meta charset=utf-8><title>Answers</title><style>body{font:15px sans-serif;margin:2em}" +
		"td,th{text-align:left;padding:2px 12px}text{font:12px sans-serif}</style><h1>Answers</h1><table>")
	rows := s.rows()
	for i := range rows[0] {
		b.WriteString("<tr>")
		for _, row := range rows {
			fmt.Fprintf(&b, "<td>%s</td>", html.EscapeString(row[i]))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</table>")
	if s.tasks != nil {
		b.WriteString("<h2>Tasks</h2><table>")
		for _, row := range s.each() {
			b.WriteString("<tr>")
			for _, cell := range row {
				fmt.Fprintf(&b, "<td>%s</td>", html.EscapeString(cell))
			}
			b.WriteString("</tr>")
		}
		b.WriteString("</table>")
	}
	b.WriteString("<h2>Right answers</h2>")
	var names []string
	var shares []float64
	for _, a := range s.Arms {
		names, shares = append(names, a.Arm), append(shares, mean(a.Right, a.Asked))
	}
	percent := func(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
	bars(&b, names, shares, 1, percent)
	b.WriteString("<h2>Dollars a right answer</h2>")
	prices, most := []float64{}, 0.0
	for _, a := range s.Arms {
		prices = append(prices, a.dollars())
		most = max(most, a.dollars())
	}
	bars(&b, names, prices, most, func(usd float64) string {
		if usd == 0 {
			return "no right answer"
		}
		return fmt.Sprintf("%.4f", usd)
	})
	for _, a := range s.Arms {
		if a.Arm == "lethe" {
			b.WriteString("<h2>Lethe: evidence found, shown, opened; answered</h2>")
			shares = nil
			for _, n := range a.Ladder {
				shares = append(shares, mean(n, a.Asked))
			}
			bars(&b, ranks, shares, 1, percent)
		}
	}
	return b.String() + "\n"
}

// dollars is the price of a right answer; 0 without one.
func (s Score) dollars() float64 {
	if s.Right == 0 {
		return 0
	}
	return (s.USD + s.Played).Dollars() / float64(s.Right)
}

// bars draws figures up to most.
func bars(b *strings.Builder, names []string, figures []float64, most float64, label func(float64) string) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="560" height="%d">`, 26*len(names))
	for i, name := range names {
		y, width := 26*i, 0.0
		if most > 0 {
			width = 360 * figures[i] / most
		}
		fmt.Fprintf(b, `<text x="0" y="%d">%s</text><rect x="80" y="%d" width="%.1f" height="18" fill="#2a78c8"/>`+
			`<text x="%.1f" y="%d">%s</text>`, y+14, html.EscapeString(name), y, width, 86+width, y+14, label(figures[i]))
	}
	b.WriteString("</svg>")
}
