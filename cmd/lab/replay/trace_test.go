package replay

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

func readAll(r io.Reader) (out []Item, err error) {
	for item, err := range Read(r) {
		if err != nil {
			return out, err
		}
		out = append(out, item)
	}
	return out, nil
}

func TestReader(t *testing.T) {
	in := "{\"kind\":\"user\",\"text\":\"hi\"}\n\n  \t\r\n" +
		`{"text":"◆ e1\nline","kind":"asst","usd":0.3,"nested":{"kind":"x"}}` + "\r\n" +
		`{"kind":"tool","text":""}` // no newline at the end
	got, err := readAll(strings.NewReader(in))
	want := []Item{{User, "hi"}, {Asst, "◆ e1\nline"}, {Tool, ""}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %q", err, got)
	}
	if got, err := readAll(strings.NewReader("")); err != nil || len(got) != 0 {
		t.Errorf("empty: %v %v", got, err)
	}
}

func TestReaderErrors(t *testing.T) {
	ok := "{\"kind\":\"user\",\"text\":\"hi\"}\n"
	for name, c := range map[string]struct{ in, want string }{
		"not JSON":     {ok + "hello\n", "read trace: line 2: not an object with kind and text: "},
		"half":         {ok + ok + `{"kind":"user","te`, "read trace: line 3: not an object with kind and text: "},
		"no object":    {"[1]\n", "read trace: line 1: not an object with kind and text: "},
		"no kind":      {ok + "\n" + `{"text":"x"}`, `read trace: line 3: kind "" is none of user, asst, tool`},
		"unknown kind": {`{"kind":"User","text":"x"}`, `read trace: line 1: kind "User" is none of user, asst, tool`},
		"no text":      {`{"kind":"tool"}`, `read trace: line 1: no "text"`},
		"null text":    {`{"kind":"tool","text":null}`, `read trace: line 1: no "text"`},
		"number":       {`{"kind":"tool","text":7}`, "read trace: line 1: not an object with kind and text: "},
		"too long":     {ok + `{"kind":"user","text":"` + strings.Repeat("x", MaxLine), "read trace: line 2: longer than 64 MB"},
	} {
		_, err := readAll(strings.NewReader(c.in))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	broken := errors.New("the disk is gone")
	if _, err := readAll(io.MultiReader(strings.NewReader(ok), errReader{broken})); !errors.Is(err, broken) {
		t.Errorf("a failing file: %v", err)
	}
}

type errReader struct{ error }

func (r errReader) Read([]byte) (int, error) { return 0, r.error }

func TestSteps(t *testing.T) {
	grouped := func(items ...Item) (out []step) {
		for st, err := range steps(of(items)) {
			lethetest.Must(t, err)
			out = append(out, st)
		}
		return out
	}
	u, a, r := func(s string) Item { return Item{User, s} }, func(s string) Item { return Item{Asst, s} },
		func(s string) Item { return Item{Tool, s} }
	for name, c := range map[string]struct {
		in   []Item
		want []step
	}{
		"nothing": {nil, nil},
		"a turn": {[]Item{u("1"), u("2"), a("3"), r("4"), r("5"), a("6")},
			[]step{{[]string{"1", "2"}, true, "3", []string{"4", "5"}}, {nil, true, "6", nil}}},
		"no answer":    {[]Item{a("1"), u("2")}, []step{{nil, true, "1", nil}, {[]string{"2"}, false, "", nil}}},
		"result first": {[]Item{r("1"), r("2"), a("3")}, []step{{nil, true, "", []string{"1", "2"}}, {nil, true, "3", nil}}},
		"result of a user": {[]Item{u("1"), r("2"), u("3"), a("4")},
			[]step{{[]string{"1"}, true, "", []string{"2"}}, {[]string{"3"}, true, "4", nil}}},
	} {
		got := grouped(c.in...)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
