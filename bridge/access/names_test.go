package access

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"lethe/chat"
)

func TestNameFor(t *testing.T) {
	p, _ := newPolicy(t)
	writePeople(t, p, `{"version":1,"users":[{"id":"2","name":"bob"},{"id":"3","name":"ADA"},{"id":"4"}],"chats":[{"id":"-10","name":"Team"}]}`)
	if err := p.Static(Lists{Users: []string{"1 ada", "5 ada-maria", "6", "9 ida"}, Names: []string{"grace"}}); err != nil {
		t.Fatal(err)
	}
	r := must(p.Rules())
	for _, c := range [][3]string{
		{"1", "whatever", "ada"},
		{"2", "Robert", "bob"},
		{"3", "x", "ADA-3"}, // the configuration gave the name to another
		{"4", "Cleo", "Cleo"},
		{"5", "", "ada-maria"},
		{"6", "Dora", "Dora"},
		{"7", "eve", "eve"},
		{"7", "Ada", "Ada-7"},
		{"7", "BOB", "BOB-7"},
		{"7", "Grace", "Grace-7"},
		{"7", "ada-1", "ada-1-7"}, // as another who is called ada would sign
		{"7", "ada-7", "ada-7"},   // its own id is told already
		{"7", "ada-", "ada-7"},
		{"7", "adam", "adam"},
		{"7", "Team", "Team"},
		{"7", "a da", "a_da"},
		{"7", "ada\u200b", "ada-7"}, // what cannot be seen is no difference
		{"7", "", "unknown-7"},
		{"7", "] ", "unknown-7"},
		{"7", "\u0410da", "\u0410da-7"},   // with a Cyrillic A
		{"7", "А\u0501а", "А\u0501а-7"},   // all of it Cyrillic
		{"7", "Αda", "Αda-7"},             // with a Greek one
		{"7", "Ꭺꭰꭺ", "Ꭺꭰꭺ-7"},             // Cherokee, in two sizes
		{"7", "Ａｄａ", "Ａｄａ-7"},             // in full width
		{"7", "𝐀𝒹𝖆", "𝐀𝒹𝖆-7"},             // in the letters of mathematics
		{"7", "A\u0323da", "A\u0323da-7"}, // with a dot below
		{"7", "Ⓐda", "Ⓐda-7"},
		{"7", "ada\u2011x", "ada\u2011x-7"}, // with another hyphen
		{"7", "\u0301", "\u0301-7"},         // marks on nothing
		{"7", "gгace", "gгace-7"},
		{"7", "unkn0wn", "unkn0wn-7"},
		{"8", "lda", "lda-8"}, // as who is listed as ida may be written
		{"7", "Ада", "Ада"},   // a name of its own: д is no d
		{"7", "Ελένη", "Ελένη"}, {"7", "李雷", "李雷"}, {"7", "Zoë", "Zoë"}, {"7", "Алла", "Алла"}, {"7", "رنا", "رنا"}, {"7", "🦊", "🦊"},
		{"7", "ada-" + strings.Repeat("x", 80), "ada-" + strings.Repeat("x", 58) + "-7"},
	} {
		if got := r.NameFor(c[0], c[1]); got != c[2] {
			t.Errorf("NameFor(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// Names look alike whatever their case, marks and invisible letters, and whoever a
// name looks like looks like it.
func TestLooks(t *testing.T) {
	for _, c := range []struct {
		name, other string
		like, back  bool
	}{
		{"Вова", "вова", true, true}, // their В and в have other looks
		{"Вова", "BОВА", true, true}, // with a Latin B
		{"Nova", "Νoνa", true, true}, // each letter as it stands
		{"kate", "кате", true, true}, // as capitals
		{"mary", "rnary", true, true}, {"Bill", "BiII", true, true}, {"paulO", "paul0", true, true},
		{"Ünal", "unal", true, true}, {"Bjørn", "bjorn", true, true}, {"σοφος", "ΣΟΦΟΣ", true, true},
		{"lan", "ian", true, false}, {"Lan", "Ian", false, true}, {"Alla", "Alia", false, false},
		{"павел", "pavel", false, false}, {"", "", false, false}, {"\u3164", "\u2800", false, false},
	} {
		name, other := LookOf(c.name), LookOf(c.other)
		if name.Like(other) != c.like || other.Like(name) != c.back {
			t.Errorf("%q is like %q: %v, and back: %v", c.name, c.other, !c.like, !c.back)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := seen(rapid.String().Draw(t, "name")) // a mark has capitals that are letters
		if name == "" {
			return
		}
		other := rapid.SampledFrom([]func(string) string{strings.ToUpper, strings.ToLower, fold, blur}).Draw(t, "change")(name)
		if !LookOf(name).Like(LookOf(other)) {
			t.Fatalf("%q is %q, and not like %q, which is %q", name, LookOf(name), other, LookOf(other))
		}
	})
}

// fold is another name that is equal but for the case.
func fold(s string) string { return strings.Map(unicode.SimpleFold, s) }

// blur puts things into a name that do not show.
func blur(s string) string {
	return "\u2060" + strings.Join(strings.Split(s, ""), "\u0301\u200b") + "\ufe0f"
}

// Whatever a stranger claims, the name is valid, is no listed person's, and is not
// what another stranger with a claim to that name signs with.
func TestNamesCannotBeTaken(t *testing.T) {
	listed := []Person{{ID: "1", Name: "ada"}, {ID: "2", Name: "Bob-the-builder"}, {ID: "3", Name: "Ünal"}}
	rules := newRules(Lists{Names: []string{"grace"}}, directory{Users: listed[:1]}, directory{Users: listed[1:]})
	claims := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
		base := rapid.SampledFrom([]string{"ada", "ADA", "grace", "bob-the-builder", "ÜNAL", "ünal", "unknown", ""}).Draw(t, "base")
		base = rapid.SampledFrom([]func(string) string{strings.Clone, blur, disguise}).Draw(t, "disguise")(base)
		return base + rapid.StringMatching(`[-_ a0-9\x{200b}\]]{0,12}`).Draw(t, "end")
	}))
	ids := rapid.StringMatching(`[1-9][0-9]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := ids.Draw(t, "a"), ids.Draw(t, "b")
		one, other := rules.NameFor(a, claims.Draw(t, "claim of a")), rules.NameFor(b, claims.Draw(t, "claim of b"))
		for _, name := range []string{one, other} {
			if !chat.ValidName(name) {
				t.Fatalf("%q cannot stand in a tag", name)
			}
			for _, taken := range []string{"ada", "Bob-the-builder", "Ünal", "grace"} {
				if LookOf(name).Like(LookOf(taken)) {
					t.Fatalf("a stranger signs as %s, which looks like %s", name, taken)
				}
			}
		}
		if a != b && one == other && (strings.HasSuffix(one, "-"+a) || strings.HasSuffix(one, "-"+b)) && strings.HasPrefix(strings.ToLower(one), "ada-") {
			t.Fatalf("%s and %s both sign as %s", a, b, one)
		}
	})
}

// disguise puts a letter that looks alike in the place of each that has one.
func disguise(s string) string {
	return strings.Map(func(r rune) rune {
		for _, other := range lookalikes[string(r)] {
			if other > unicode.MaxASCII {
				return other
			}
		}
		return r
	}, s)
}
