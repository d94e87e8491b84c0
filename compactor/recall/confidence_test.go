package recall

import (
	"fmt"
	"reflect"
	"testing"
)

// Small talk has no hints; neither has a question about something else, nor a text of which one word occurs.
func TestConfidence(t *testing.T) {
	s := talks()
	sure := func(text string) bool { return len(Hinted(s.found(text), HintConfidence)) > 0 }
	for _, text := range []string{"What did Ann paint?", "Did the neighbours find your dog?", "when did Bob lose his job at the bank",
		"We could go camping in the mountains with the kids."} {
		if !sure(text) {
			t.Errorf("%q has no hint: %+v", text, s.found(text))
		}
	}
	for _, text := range []string{"ok thanks", "good morning!", "Hey Ann, how are you?", "what do you think?",
		"Hey Bob, I love it, see you later",
		"fix the nil pointer in server.go", "When did Melanie adopt a child from Kenya?",
		"please run the integration suite again and tell me the result", "?"} {
		if sure(text) {
			t.Errorf("%q has a hint: %+v", text, s.found(text))
		}
	}
	if named, nobody := s.found("What did Ann paint?")[0], s.found("What was painted?")[0]; named.Confidence <= nobody.Confidence {
		t.Errorf("naming a speaker is worth nothing: %v, %v", named.Confidence, nobody.Confidence)
	}
	bodies := []string{chat("ann 2023-05-08 Have a nice day, good friends."), chat("bob 2023-05-08 The blue hydrangea is in bloom.")}
	for i := range 40 {
		bodies = append(bodies, chat(fmt.Sprintf("ann 2023-05-08 Row %d of the table.", i)))
	}
	party := of(bodies...)
	for text, want := range map[string]bool{"have a nice day!": false, "a good friend": false, "the hydrangea in bloom": true,
		"hydrangea?":  false,
		"a hydrangea": false, "Bob, a hydrangea": true} {
		if len(Hinted(party.found(text), HintConfidence)) > 0 != want {
			t.Errorf("%q: %+v", text, party.found(text))
		}
	}
	boats := of(chat("ann 2023-05-08 a boat"), chat("ann 2023-05-08 the boat"), chat("bob 2023-05-08 this boat"),
		chat("bob 2023-05-08 that boat"))
	if r := boats.found("boat"); len(r) != 4 || len(Hinted(r, HintConfidence)) > 0 {
		t.Errorf("a word that is everywhere is worth a hint: %+v", r)
	}
	for _, r := range s.found("What did Ann paint?") {
		if r.Confidence < 0 || r.Confidence > 1 {
			t.Errorf("confidence %v", r.Confidence)
		}
	}
}

// An identifier that occurs nowhere gives way to its parts.
func TestConfidenceOfUnknownIdentifier(t *testing.T) {
	s := of(chat("ann 2023-05-08 The lighthouse keeper's code is 7431."), chat("ann 2023-05-08 The keeper has a dog."),
		chat("bob 2023-05-08 Fine."))
	if r := s.found("lighthouse-keeper-code.txt"); len(Hinted(r, HintConfidence)) == 0 || s.place(r[0]) != 0 {
		t.Errorf("%+v", r)
	}
	sure := func(text string) float64 { return s.found(text)[0].Confidence }
	if whole, unknown := sure("lighthouse-keeper-code.txt"), sure("lighthouse keeper code txt zyzzyva"); whole <= unknown {
		t.Errorf("the name is as unlikely as an unknown word: %v, %v", whole, unknown)
	}
}

// A summary tells as much as a passage when it has most of its words, in whatever form.
func TestTold(t *testing.T) {
	const passage = "The keeper's code is 7431, and his dog is called Bosun."
	for summary, want := range map[string]bool{
		"The keeper: code 7431, dog Bosun": true, "Ada asked about the keeper and his dog.": false, "": false,
		"Ada asked.\nNames: 7431, Bosun\nWords: keeper, code, dog, called": false,
	} {
		if Told(passage, summary) != want {
			t.Errorf("%q: %v", summary, !want)
		}
	}
	if Told("what is it?", "it is what it is") {
		t.Error("stop words are told")
	}
	if share := Share("wifi password wlan network", "And the wifi password is now kraftskiva-77."); share != 0.5 {
		t.Errorf("a half of the words is %v", share)
	}
}

// What has overtaken another hit takes its place, however often; what was overtaken says by what, also alone.
func TestNewerFirst(t *testing.T) {
	hits := []Hit{{From: 5, To: 7}, {From: 30, To: 40}, {From: 8, To: 9}, {From: 60, To: 71}}
	NewerFirst(hits, map[string]int{"e5..e7": 40, "e30..e40": 71, "e8..e9": 80, "e60..e70": 90})
	if want := []Hit{{From: 60, To: 71}, {From: 30, To: 40, Overtaken: 71, Mark: ", overtaken by e71"},
		{From: 8, To: 9, Overtaken: 80, Mark: ", overtaken by e80"},
		{From: 5, To: 7, Overtaken: 40, Mark: ", overtaken by e40"}}; !reflect.DeepEqual(hits, want) {
		t.Errorf("%+v", hits)
	}
	NewerFirst(hits, map[string]int{"e60..e71": 40, "e30..e40": 71}) // of a damaged home: it comes to an end
	hits = []Hit{{From: 5, To: 19, Passage: "the key's code is 4471"}, {From: 5, To: 19, Passage: "the premiere is in May"}, {From: 30, To: 40}}
	NewerFirst(hits, map[string]int{"e5..e19: The key's code is 4471.": 40})
	if hits[0].From != 30 || hits[1].Mark != "" || hits[2].Mark != `, overtaken by e40: "The key's code is 4471."` {
		t.Errorf("a line marks what does not show it, or not what does: %+v", hits)
	}
}
