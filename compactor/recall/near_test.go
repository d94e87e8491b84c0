package recall

import (
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/compactor/recall/text"
	"lethe/internal/test/lethetest"
)

// probes are lines of a life, each with words by which people look for it and which the life does not know.
var probes = map[string][]struct{ line, asked string }{
	"typos": {
		{"I play the saxophone on Sundays", "saxaphone"}, {"the accommodation costs ninety", "accomodation"},
		{"a restaurant by the canal", "resturant"}, {"we met the architect", "architcet"},
		{"the bicycle has a flat tyre", "bycicle"}, {"she works as a veterinarian", "vetrinarian"},
		{"rhubarb cake for the party", "rubarb"}, {"Gasse 12, by the pharmacy", "farmacy"},
		{"the entrepreneur from Lyon", "entrepeneur"}, {"Caterpillars ate the cabbage", "catepillars"},
	},
	"compounds": {
		{"der Hafenmeister kommt um acht", "Meister vom Hafen"}, {"die Krankenversicherung zahlt", "Versicherung für Kranke"},
		{"sein Dampfschiff liegt im Dock", "Dampfschifffahrt"}, {"wir brauchen einen Kinderwagen", "Wagen für Kinder"},
		{"elasticsearch needs more heap", "elastic search heap"}, {"we moved to Post Gres last year", "postgres"},
		{"the lighthouse was painted", "house with a light"}, {"Geschwindigkeitsbegrenzung 30", "Geschwindigkeit"},
	},
	"inflected": {
		{"evlerimizde kediler var", "evlerimiz kedi"}, {"talossa on kolme ovea", "talon ovet"},
		{"książkę o ptakach", "książka"}, {"w dużych miastach jest głośno", "miasto"},
		{"kitapları rafa koydum", "kitap"}, {"järvellä oli jäätä", "järvi jäällä"},
		{"pociągiem do Gdańska", "pociąg"}, {"ystävälleni kirje", "ystävä"},
	},
	"prefixes": {
		{"the build broke at commit 3fa9c1b27d4e", "3fa9c1b"}, {"ticket OPS-48213 is closed", "OPS-482"},
		{"see internal/durable/append.go", "durable/append.go"}, {"edit docs/quote.docx before noon", "quote.docx"},
		{"the hash d41d8cd98f00b204e9800998ecf8427e is empty", "d41d8cd9"}, {"call parseConfiguration twice", "parseConfig"},
	},
	"short": {
		{"the calibration lives in etc", "calib"}, {"our repository has two branches", "repo"},
		{"the documentation is stale", "docu"}, {"kubernetes evicted the pod", "kube"},
		{"authentication fails at night", "auth"}, {"the specification says so", "spec"},
	},
}

// Words that a life does not know find lines with words that look like them.
func TestNearWords(t *testing.T) {
	w := newWorld(t)
	lines := map[string]string{}
	for _, set := range probes {
		for _, probe := range set {
			lines[probe.line] = w.says(probe.line).String()
		}
	}
	for _, other := range strings.Split(smallTalk, "\n") {
		w.says(other)
	}
	x := w.synced()
	for name, set := range probes {
		first := 0
		for _, probe := range set {
			found, err := w.trySearch(x, "what about "+probe.asked+"?")
			lethetest.Must(t, err)
			if len(found.Hits) > 0 && found.Hits[0].Hash.String() == lines[probe.line] {
				first++
			} else {
				t.Logf("%s: %q finds %s, %q", name, probe.asked, show(found.Hits[:min(2, len(found.Hits))]), found.Near)
			}
		}
		t.Logf("%s: %d of %d first", name, first, len(set))
		if first*10 < len(set)*8 {
			t.Errorf("%s: %d of %d first", name, first, len(set))
		}
	}
}

// Who asks is told which shown words stand for which, and is not told that these are absent.
func TestNearWordsAreShown(t *testing.T) {
	w := newWorld(t)
	w.says("I play the saxophone on Sundays, and read docs/quote.docx")
	w.says("Sundays are for saxhorns")
	x := w.synced()
	for asked, want := range map[string][2]string{
		"saxaphone": {"saxophone for saxaphone", ""}, "quote.docx": {"docs/quote.docx for quote.docx", ""},
		"saxophone or trombone": {"", "trombone"}, "a saxaphone, 4471": {"saxophone for saxaphone", "4471"},
	} {
		found, err := w.trySearch(x, asked)
		lethetest.Must(t, err)
		if got := [2]string{strings.Join(found.Near, "; "), strings.Join(found.Absent, "; ")}; got != want {
			t.Errorf("%q: near and absent %q, want %q", asked, got, want)
		}
	}
	hinted, err := x.Hints(t.Context(), w.store, "do you play the saxaphone on Sunday, and read it?", w.now, 0)
	lethetest.Must(t, err)
	if found, _ := w.trySearch(x, "saxaphone"); len(found.Hits) != 1 || len(hinted.Near) > 0 || len(hinted.Absent) == 0 {
		t.Errorf("hits %s; hinted at with %q for absent %q", show(found.Hits), hinted.Near, hinted.Absent)
	}
}

// A compound of two words of a query comes before all that looks like one of them.
func TestCompoundsOfAQuery(t *testing.T) {
	w := newWorld(t)
	want := w.says("die Datei hat vier Dezimalzahlen")
	sought := w.says("ein Beschreibungsmerkmal der Namen")
	for _, other := range []string{"die Zahlen und Zahlungen", "Merkmalen folgt man", "dezimieren", "das Beschreiben der Namen"} {
		w.says(other + " zum Ersten")
	}
	x := w.synced()
	for asked, hit := range map[string]blobs.Hash{"Zahlen, Dezimal": want, "Merkmal der Beschreibungs": sought} {
		found, err := w.trySearch(x, asked)
		lethetest.Must(t, err)
		if len(found.Hits) == 0 || found.Hits[0].Hash != hit || len(found.Absent) > 0 {
			t.Errorf("%q finds %s, near %q, absent %q", asked, show(found.Hits), found.Near, found.Absent)
		}
	}
}

const smallTalk = `good morning everyone
I'll be back in ten minutes
the invoice from March is still unpaid
please book a table for two at eight
my flight was delayed by two hours
the printer on the second floor is jammed
we should use one database instead of two
is it going to rain tomorrow?
who left the window open last night?
the meeting moved to Thursday at ten
I bought apples, pears and a new kettle
her brother studies chemistry in Graz
the shop closes early on Saturdays
nobody answered the phone all day
the train from the coast was late again
we painted the kitchen yellow`

// Three letters in common at the beginning make no word look like another.
func TestShortBeginnings(t *testing.T) {
	if got := text.Near("sink", "since\nsing"); len(got) != 1 || got[0] != "sing" {
		t.Error(got)
	}
	if got := text.Near("książka", "książkę"); len(got) != 1 {
		t.Error(got)
	}
}
