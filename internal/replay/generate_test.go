package replay

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"lethe/llm/rehearsal"
)

func generated(t testing.TB, tokens int, seed uint64) Items {
	t.Helper()
	var b bytes.Buffer
	if err := Generate(&b, tokens, seed); err != nil {
		t.Fatal(err)
	}
	items, err := readAll(&b)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

func TestGenerateIsDeterministic(t *testing.T) {
	write := func(seed uint64) string {
		var b bytes.Buffer
		if err := Generate(&b, 20_000, seed); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	first := write(1)
	if again := write(1); first != again {
		t.Error("the same seed gave another trace")
	}
	if first == write(2) {
		t.Error("another seed gave the same trace")
	}
}

// A generated trace is of the size asked for and of the shape of real ones: most
// tokens in results, most results short, some very long, tests that fail, rules.
func TestGenerateLooksLikeAnAgent(t *testing.T) {
	const want = 400_000
	items := generated(t, want, 3)
	tokens, results, long, short := map[string]int{}, 0, 0, 0
	var all strings.Builder
	for _, it := range items {
		tokens[it.Kind] += rehearsal.Tokens(it.Text)
		if it.Kind == Tool {
			results++
			if len(it.Text) > 20_000 {
				long++
			}
			if len(it.Text) < 4000 {
				short++
			}
			if len(it.Text) > 70_000 {
				t.Errorf("a result of %d bytes", len(it.Text))
			}
		}
		all.WriteString(it.Text)
	}
	total := tokens[User] + tokens[Asst] + tokens[Tool]
	if total < want || total > want+40_000 {
		t.Errorf("%d tokens, asked for %d", total, want)
	}
	if tokens[Tool] < total/2 || tokens[Asst] < total/20 || tokens[User] < total/500 {
		t.Errorf("tokens: %v", tokens)
	}
	if long == 0 || short < results/2 {
		t.Errorf("of %d results %d are short and %d very long", results, short, long)
	}
	for _, has := range []string{"--- FAIL:", "--- PASS:", "Never push to main", "diff --git", "edited ", "git commit", "-rw-r--r--"} {
		if !strings.Contains(all.String(), has) {
			t.Errorf("nowhere %q", has)
		}
	}
	for _, hole := range []string{"{file}", "{func}", "{issue}", "{person}", "{n}", "{t}", "§", "%!"} {
		if strings.Contains(all.String(), hole) {
			t.Errorf("%q was not filled in", hole)
		}
	}
}

func TestGenerateStopsAtAnError(t *testing.T) {
	full := errors.New("no space left")
	w := &fullWriter{left: 10, err: full}
	if err := Generate(w, 1_000_000, 1); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if w.after > 0 {
		t.Errorf("wrote %d times after the error", w.after)
	}
}

type fullWriter struct {
	left, after int
	err         error
}

func (w *fullWriter) Write(p []byte) (int, error) {
	if w.left--; w.left >= 0 {
		return len(p), nil
	}
	if w.left < -1 {
		w.after++
	}
	return 0, w.err
}
