package vitals

import (
	"strings"
	"testing"
)

func TestParseTests(t *testing.T) {
	const out = `go: downloading x
{"Action":"start","Package":"lethe/agent"}
{"Action":"output","Package":"lethe/agent","Test":"TestA/one","Output":"    a_test.go:9: tried 6 states\n"}
{"Action":"fail","Package":"lethe/agent","Test":"TestA/one/x"}
{"Action":"fail","Package":"lethe/agent","Test":"TestA/one"}
{"Action":"output","Package":"lethe/agent","Test":"TestA","Output":"    a_test.go:12: tried 3 states\n"}
{"Action":"fail","Package":"lethe/agent","Test":"TestA/two"}
{"Action":"fail","Package":"lethe/agent","Test":"TestA"}
{"Action":"pass","Package":"lethe/agent","Test":"TestB"}
{"Action":"output","Package":"lethe/agent","Output":"FAIL\n"}
`
	said := 0
	done, other := parseTests(strings.NewReader(out), func(string) { said++ })
	if len(done) != 2 || *done["agent TestA"] != (sweep{tried: 9, failed: 2}) || *done["agent TestB"] != (sweep{}) {
		t.Errorf("%+v, %+v", done["agent TestA"], done["agent TestB"])
	}
	if said != 3 || other != "FAIL\n" {
		t.Errorf("%d lines are said, and %q", said, other)
	}
}
