package bench

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What strace writes: whole calls and the first halves of others count, those on sockets, pipes and events do not.
func TestCount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "strace")
	text := `7 1000.000100 openat(AT_FDCWD</>, "/h/LIFE.md", O_RDONLY) = 3</h/LIFE.md>
7 1000.000200 fsync(3</h/LIFE.md> <unfinished ...>
8 1000.000300 read(5<socket:[12]>, "x", 1) = 1
7 1000.000400 <... fsync resumed>) = 0
8 1000.000500 epoll_ctl(4<anon_inode:[eventpoll]>, EPOLL_CTL_ADD, 5<socket:[12]>, {}) = 0
8 1000.000600 newfstatat(AT_FDCWD</>, "/h", {}, 0) = 0
7 1009.000000 fdatasync(3</h/LIFE.md>) = 0
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	syncs, files, err := count(file, time.Unix(1000, 0), time.Unix(1001, 0))
	if err != nil || syncs != 1 || files != 3 {
		t.Errorf("%d syncs, %d calls, %v", syncs, files, err)
	}
}

func TestReport(t *testing.T) {
	r := Report{Machine: []string{"a processor", "2 cores"}, Figures: map[string]map[string]float64{
		"round 10":    {"lethe": 5.81, "against": 7, floor: 2.2},
		"syncs round": {"lethe": 6, floor: 6},
		"line p99":    {"lethe": 34, floor: 39},
		"turns 1":     {"lethe": 2, floor: 2.1},
		"turns 10":    {"lethe": 20, floor: 25},
		"puts 1":      {"lethe": 77},
	}, Notes: []string{"a note"}}
	got := r.String()
	for _, want := range []string{"a processor; 2 cores", "     5.81     7.00     2.20      ≤ 3.20 ms    over\n",
		"     6.00        –     6.00      ≤ 6.00\n", "≤ 6.00 ms    over, six too\n", "≥ 2.40       over, six too\n",
		"≥ 24.0       over\n", "≥ 95.0 %     over\n", "\na note\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "2,000") {
		t.Errorf("it has a row that was not measured:\n%s", got)
	}
	if plot := r.Plot(); strings.Count(plot, "<g ") != 1 || !strings.Contains(plot, `class="against" d="M`) {
		t.Errorf("the plot is\n%s", plot)
	}
}

// A model that waits before its answer while the bench goes on, or has ended, says no line in a home that is gone.
func TestHush(t *testing.T) {
	var m model
	if err := m.listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked, answers, said := make(chan int), make(chan int), false
	l := m.expect(&column{title: "lethe"}, prefix+"000", script{
		before: func(n int) { asked <- n; <-answers },
		next:   func() error { said = true; return nil },
	})
	go func() {
		<-asked
		_ = m.hush()
		close(answers)
	}()
	r := httptest.NewRequest("POST", "/lethe/chat/completions", strings.NewReader(prefix+"000"))
	m.ServeHTTP(httptest.NewRecorder(), r)
	if (<-l.done).came.IsZero() || said {
		t.Error("a line was said after hush")
	}
}
