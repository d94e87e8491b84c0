//go:build unix

package tools

import (
	"encoding/json"
	"strings"
	"testing"
)

type sampleArgs struct {
	Path  string `json:"path"`
	Limit int64  `json:"limit,omitempty"`
	All   bool   `json:"all,omitempty"`
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"path":"a"}`, "a 7 false"},
		{`{"path":"a","limit":5,"all":true}`, "a 5 true"},
		{`{"path":"a","limit":"5"}`, "a 5 false"},
		{`{"path":"a","limit":" 5 ","all":"True"}`, "a 5 true"},
		{`{"path":"a","limit":5.0}`, "a 5 false"},
		{`{"path":"a","limit":-3}`, "a -3 false"},
		{`{"path":"a","limit":null}`, "a 7 false"},
		{`{"Path":"a","LIMIT":2}`, "a 2 false"},
		{` {"path":""} `, " 7 false"},

		{``, `missing argument "path"`},
		{`null`, `missing argument "path"`},
		{`{}`, `path, limit (optional), all (optional)`},
		{`{"path":null}`, `missing argument "path"`},
		{`{"path":5}`, `must be a string, not "5"`},
		{`{"path":{"x":1}}`, `must be a string, not an object`},
		{`{"path":["a"]}`, `must be a string, not an array`},
		{`{"path":"a","limit":"many"}`, `must be an integer, not the string "many"`},
		{`{"path":"a","limit":1.5}`, `must be an integer, not "1.5"`},
		{`{"path":"a","limit":1e300}`, `must be an integer`},
		{`{"path":"a","limit":true}`, `must be an integer`},
		{`{"path":"a","all":"perhaps"}`, `must be true or false`},
		{`{"path":"a","file":"b"}`, `unknown argument "file": the arguments are path`},
		{`["a"]`, `must be a JSON object, not an array`},
		{`"a"`, `must be a JSON object, not the string "a"`},
		{`{"path":`, `not JSON`},
	} {
		a := sampleArgs{Limit: 7}
		got := ""
		if err := Decode(json.RawMessage(c.args), &a); err != nil {
			got = err.Error()
		} else {
			got = strings.Join([]string{a.Path, json.Number(mustJSON(a.Limit)).String(), mustJSON(a.All)}, " ")
		}
		if got != c.want && !(strings.Contains(got, " ") && strings.Contains(got, c.want)) {
			t.Errorf("%s: got %q, want %q", c.args, got, c.want)
		}
	}
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
