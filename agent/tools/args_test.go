package tools_test

import (
	"encoding/json"
	"fmt"
	"lethe/agent/tools"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"path":"a"}`, "a 7"},
		{` {"path":""} `, " 7"},
		{`{"path":"a","limit":-3}`, "a -3"},
		{`{"path":"a","limit":" 5 "}`, "a 5"},
		{`{"path":"a","limit":5.0}`, "a 5"},
		{`{"path":"a","limit":null}`, "a 7"},
		{`{"Path":"a","LIMIT":2}`, "a 2"},

		{``, `missing argument "path"`},
		{`null`, `missing argument "path"`},
		{`{}`, `the arguments are path, limit (optional), list (optional), yes (optional)`},
		{`{"path":null}`, `missing argument "path"`},
		{`{"path":5}`, `argument "path" must be of type string, not "5"`},
		{`{"path":["a"]}`, `must be of type string, not "[\"a\"]"`},
		{`{"path":"a","limit":"many"}`, `argument "limit" must be of type integer, not "\"many\""`},
		{`{"path":"a","limit":1.5}`, `must be of type integer, not "1.5"`},
		{`{"path":"a","limit":1e300}`, `must be of type integer`},
		{`{"path":5,"file":"b"}`, `unknown argument "file": the arguments are path`},
		{`["a"]`, `must be one JSON object, not`},
		{`{"path":`, `must be one JSON object, not`},
		{`{"path":"a","list":["b","c"],"yes":true}`, "a 7 b\nc 1"},
		{`{"path":"a","list":"b|c","yes":"false"}`, "a 7 b|c 0"},
		{`{"path":"a","list":[1]}`, "a 7 [1] 0"},
		{`{"path":"a","yes":"maybe"}`, `argument "yes" must be of type integer`},
	} {
		a := struct {
			Path  string        `json:"path"`
			Limit tools.Integer `json:"limit,omitempty"`
			List  tools.Loose   `json:"list,omitempty"`
			Yes   tools.Integer `json:"yes,omitempty"`
		}{Limit: 7}
		err := tools.Decode(json.RawMessage(c.args), &a)
		got := fmt.Sprint(a.Path, " ", a.Limit)
		if a.List != "" {
			got += fmt.Sprint(" ", a.List, " ", a.Yes)
		}
		if err == nil && got != c.want {
			t.Errorf("%s: got %q, want %q", c.args, got, c.want)
		} else if err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
	}
}
