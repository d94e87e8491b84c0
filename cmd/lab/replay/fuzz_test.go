package replay

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// A trace of strangers is refused by its line, or is written and read again as it was.
func FuzzReader(f *testing.F) {
	f.Add("")
	f.Add(`{"kind":"user","text":"hi","at":1e999}` + "\r\n\n" + `{"kind":"asst","text":"◆ \u2028\u0000\ud800"}`)
	f.Add(`{"kind":"tool","text":""}` + "\n" + `{"kind":"tool","text":"x"}` + "\n" + `{"kind":"asst","text":"y"}`)
	f.Add(`{"kind":"user","text":null}`)
	f.Add(`{"kind":"boss","text":"x"}`)
	f.Add("null")
	f.Add("\xff\x00")
	f.Add(strings.Repeat(`{"kind":`, 20000))
	f.Fuzz(func(t *testing.T, text string) {
		items, err := readAll(strings.NewReader(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "line ") {
				t.Fatalf("%q", err)
			}
			return
		}
		var b strings.Builder
		for _, item := range items {
			line, err := json.Marshal(item)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(append(line, '\n'))
		}
		if again, err := readAll(strings.NewReader(b.String())); err != nil || !reflect.DeepEqual(again, items) {
			t.Fatalf("%+v becomes %+v, %v", items, again, err)
		}
	})
}
