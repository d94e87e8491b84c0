package main

import (
	"encoding/json"
	"strings"
	"testing"

	"lethe/life"
)

// What is a number in LIFE is a number for programs, and nothing makes a line
// that is not JSON.
func TestNumbersOfEvents(t *testing.T) {
	for line, want := range map[string]string{
		"joined e1 room=dev at=7 total=2": `"at":[7],"room":["dev"],"total":[2]`,
		"inbound e2 room=dev at=7..9":     `"at":["7..9"],"room":["dev"]`,
		"reply e3 in=4 usd=0.000004":      `"in":[4],"usd":[0.000004]`,
		"reply e3 in=NaN usd=0x1p4":       `"in":["NaN"],"usd":["0x1p4"]`,
	} {
		e, err := life.ParseLine("[2026-11-20T12:57:16.000000Z] " + line + " #000000000000")
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(eventOf(e))
		if err != nil || !strings.Contains(string(got), `"fields":{`+want+`}`) {
			t.Errorf("%s is printed as %s, %v; want %s", line, got, err, want)
		}
	}
}
