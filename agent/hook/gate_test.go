package hook_test

import (
	"lethe/agent/hook"
	"strings"
	"testing"
)

// A schema that a model wrote ends: no daemon hangs or dies of it.
func TestGateIsValid(t *testing.T) {
	if why := (hook.Gate{Schema: []byte(`{"$ref":"#"}`)}).Fits("1"); !strings.Contains(why, "has a $ref") {
		t.Errorf("fits: %s", why)
	}
	for schema, ok := range map[string]bool{"": true, `{"type":"object"}`: true, `[1]`: false,
		`{"$ref":"https://example.com/x"}`: false, `{`: false,
		`{"$ref":"#"}`: false, `{"$REF":"#"}`: false, `{"properties":{"a":{"$ref":"#/properties/a"}}}`: false,
		`{"$dynamicRef":"#"}`: false, `{"\u0024ref":"#"}`: false,
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"integer"}}}`: false, `{"$defs":{"x":{"$id":"http://x/","$ref":"#/a"}}}`: false} {
		if _, err := hook.ReadSchema([]byte(schema)); (err == nil) != ok {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// A schema is read by what it means, whichever version it names.
func TestVersionOfAGate(t *testing.T) {
	for _, version := range []string{
		"http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema#", "urn:unknown",
	} {
		gate := hook.Gate{Schema: []byte(`{"$schema":"` + version + `","type":"object","required":["a"]}`)}
		if why := gate.Fits(`{"a":1}`); why != "" {
			t.Errorf("%s: %s", version, why)
		}
		if gate.Fits(`{}`) == "" {
			t.Errorf("%s: the schema holds nothing", version)
		}
	}
}
