package bench

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// row is a line of the table. The bound is what Lethe sets itself: '+' above the floor, '<' at most, '>' at least.
type row struct {
	key, label, unit string
	bound            byte
	by               float64
}

var rows = []row{
	{"round 10", "answer with a call → next request, at 10 rounds", "ms", '+', 1},
	{"round 400", "… at 400 rounds", "ms", '+', 1.5},
	{"round 2000", "… at 2,000 rounds", "ms", '+', 1.5},
	{"processor 10", "processor a round, at 10 rounds", "ms", '+', 1.1},
	{"processor 2000", "… at 2,000 rounds", "ms", '+', 1.1},
	{"disk 10", "to disk a round, at 10 rounds", "KB", '+', 4},
	{"disk 2000", "… at 2,000 rounds", "KB", '+', 4},
	{"syncs round", "syncs a round", "", '<', 6},
	{"syncs turn", "syncs of a turn without a call", "", '<', 8},
	{"files round", "calls on files a round", "", '<', 60},
	{"files turn", "calls on files of a turn without a call", "", 0, 0},
	{"files idle", "calls on files a second at rest", "", '<', 0.5},
	{"line", "line in a room → request, p50", "ms", '<', 3},
	{"line p99", "… p99", "ms", '<', 6},
	{"recalling", "… with an index, p50", "ms", '<', 3},
	{"recalling p99", "… with an index, p99", "ms", '<', 6},
	{"ready 1", "start → ready, 1 MB of LIFE", "ms", '<', 20},
	{"ready 50", "… 50 MB", "ms", '<', 20},
	{"ready 200", "… 200 MB", "ms", '<', 20},
	{"first", "start → first request, 200 MB", "ms", '<', 25},
	{"init", "start of this program that ends first thing in main", "ms", 0, 0},
	{"resident", "resident, one idle identity", "MB", '<', 20},
	{"own", "… of which its own, not of the program file", "MB", 0, 0},
	{"own more", "… each further one", "MB", '<', 0.18},
	{"turns 1", "turns a second, 1 identity, answers of 0.2 s", "", '>', 2.4},
	{"turns 10", "… 10 identities", "", '>', 24},
	{"turns 100", "… 100 identities", "", '>', 180},
	{"turn processor", "processor a turn there", "ms", '<', 6},
	{"turn disk", "to disk a turn there", "KB", '<', 60},
	{"idle 1", "idle processor in 30 s, 1 identity", "ms", '<', 1},
	{"idle 100", "… 100 identities", "ms", '<', 20},
	{"index made", "index of what has faded, an original", "µs", '<', 150},
	{"index size", "… on disk", "bytes", '<', 600},
	{"search", "search in it, p50", "ms", '<', 8},
	{"adopt speed", "histories adopted; six: SQLite's FTS5 filled", "MB/s", '>', 30},
	{"adopt processor", "… processor a MB", "ms", 0, 0},
	{"adopt disk", "… disk, of the source", "", '<', 0.7},
	{"adopt resident", "… resident at most", "MB", '<', 220},
	{"adopt recall", "… first search behind it, makes the index", "ms", 0, 0},
	{"adopt again", "… again, 20,000 files as they were", "ms", '<', 1000},
	{"puts 1", "blob puts of 4 KB, of a raw loop, 1 writer", "%", '>', 95},
	{"puts 16", "… 16 writers", "%", '>', 95},
	{"append", "4 KB appended and synced", "ms", 0, 0},
	{"blob", "4 KB in a new file, synced with its directory", "ms", 0, 0},
	{"event", "a file changes → the watcher's event", "ms", 0, 0},
	{"binary", "binary as it is (bound: stripped)", "MB", '<', 25},
}

// Report is what was measured: figures by row and column, those of the plot among them.
type Report struct {
	Machine []string                      `json:"machine"`
	Figures map[string]map[string]float64 `json:"figures"`
	Notes   []string                      `json:"notes,omitempty"`
}

// machine notes the processor, the file system, the kernel and Go.
func (b *bench) machine() {
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	_, model, _ := strings.Cut(string(cpu), "model name\t: ")
	model, _, _ = strings.Cut(model, "\n")
	disk, _ := exec.Command("df", "-PT", b.dir).Output() // without -T elsewhere
	kernel, _ := exec.Command("uname", "-sr").Output()
	f := append(strings.Fields(string(disk)), make([]string, 10)...)
	b.Machine = []string{strings.TrimSpace(fmt.Sprintf("%s, %d cores", model, runtime.NumCPU())), f[9], release.FindString(string(kernel)), runtime.Version()}
}

// release is a kernel's name and version, without the build.
var release = regexp.MustCompile(`\w+ \d+\.\d+`)

// bounded is the bound of a row, and what is beyond it: the floor is where the machine is too slow for it, or too busy.
func (r row) bounded(figure, floor float64) (text, over string) {
	most, sign := r.by, "≤ "
	switch r.bound {
	case 0:
		return "", ""
	case '+':
		most += floor
	case '>':
		figure, floor, most, sign = -figure, -floor, -r.by, "≥ "
	}
	switch {
	case figure <= most:
	case floor != 0 && floor > most:
		over = "over, six too"
	default:
		over = "over"
	}
	return sign + number(math.Abs(most)), over
}

// number has three digits, or all before the point.
func number(f float64) string {
	digits := 2
	for most := 10.0; f >= most && digits > 0; most *= 10 {
		digits--
	}
	return fmt.Sprintf("%.*f", digits, f)
}

// Table has a head and a row for each figure: its label, a cell for each column, its bound, its unit, and how it is
// beyond the bound.
func (r *Report) Table() [][]string {
	columns := []string{"lethe", floor}
	for _, values := range r.Figures {
		if _, ok := values["against"]; ok {
			columns = []string{"lethe", "against", floor}
		}
	}
	table := [][]string{slices.Concat([]string{""}, columns, []string{"bound", "", ""})}
	for _, row := range rows {
		values, ok := r.Figures[row.key]
		if !ok {
			continue
		}
		cells := []string{row.label}
		for _, c := range columns {
			text := "–"
			if v, ok := values[c]; ok {
				text = number(v)
			}
			cells = append(cells, text)
		}
		bound, over := row.bounded(values["lethe"], values[floor])
		table = append(table, append(cells, bound, row.unit, over))
	}
	return table
}

// String is the table for people.
func (r *Report) String() string {
	out := new(strings.Builder)
	fmt.Fprintf(out, "%s\n\n", strings.Join(r.Machine, "; "))
	for _, cells := range r.Table() {
		last := len(cells) - 3
		line := cells[0] + strings.Repeat(" ", 54-utf8.RuneCountInString(cells[0]))
		for _, figure := range cells[1:last] {
			line += fmt.Sprintf("%9s", figure)
		}
		line += fmt.Sprintf("%12s %-5s %s", cells[last], cells[last+1], cells[last+2])
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	for _, note := range r.Notes {
		fmt.Fprintln(out, note)
	}
	return out.String()
}
