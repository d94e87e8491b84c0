package text_test

import (
	"fmt"
	textpkg "lethe/compactor/recall/text"
	"strings"
	"testing"
)

// spell renders tokens: identifiers in [ ], their parts in ( ), runs in { }, days
// in < >.
func spell(text string) string {
	var out []string
	for t := range textpkg.Tokens(text) {
		out = append(out, map[textpkg.Kind]string{textpkg.Word: "%s", textpkg.Ident: "[%s]", textpkg.Part: "(%s)",
			textpkg.Run: "{%s}", textpkg.Day: "<%s>"}[t.Kind])
		out[len(out)-1] = fmt.Sprintf(out[len(out)-1], t.Text)
	}
	return strings.Join(out, " ")
}

func TestScan(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "",
		"Hello, World! 42": "hello world 42",
		"Jon's dog doesn't bark; rock 'n' roll's": "jon dog doesnt bark rock n roll",
		"Jon’s dog doesn’t":                       "jon dog doesnt",
		"O'Neil":                                  "oneil",
		"Crème Brûlée ÅNGSTRÖM naïve":             "creme brulee angstrom naive",
		"e\u0301cole":                             "ecole",
		"Ёлка и мой":                              "елка и мой",
		"ΆΛΦΑ λόγος":                              "αλφα λογοσ",
		"ＦＵＬＬ　ｗｉｄｔｈ":                              "full width",
		"well-known self-care":                    "well known self care",
		"internal/durable/append.go":              "[internal/durable/append.go] (internal) (durable) (append) (go)",
		"see /etc/passwd.":                        "see [etc/passwd] (etc) (passwd)",
		"max_tokens snake_case_name":              "[max_tokens] (max) (tokens) [snake_case_name] (snake) (case) (name)",
		"appendToFile HTTPServer parseJSON":       "[appendtofile] (append) (to) (file) [httpserver] (http) (server) [parsejson] (parse) (json)",
		"sha256 3f9c0ffee00ddead v1.2.3":          "[sha256] [3f9c0ffee00ddead] [v1.2.3] (v1) (2) (3)",
		"ada@example.org":                         "[ada@example.org] (ada) (example) (org)",
		"key=value a:b c,d":                       "key value a b c d",
		"on 2026-11-20 and":                       "on <2026-11-20> <--11-20> and",
		"2026-11-20T12:57:16.123456Z boot":        "<2026-11-20> <--11-20> boot",
		"2026-11-20 12:57:16,123 ERROR":           "<2026-11-20> <--11-20> error",
		"2026-11-20 12 apples":                    "<2026-11-20> <--11-20> 12 apples",
		"20.11.2026, and 31.06.2026":              "<2026-11-20> <--11-20> and [31.06.2026] (31) (06) (2026)",
		"2026-11-20-notes":                        "[2026-11-20-notes] (2026) (11) (20) (notes)",
		"2009/01/23 01:23:23 main.go:7":           "<2009-01-23> <--01-23> [main.go] (main) (go) 7",
		"1024-13-77 2026-02/03":                   "[1024-13-77] (1024) (13) (77) [2026-02/03] (2026) (02) (03)",
		"on 17 August 2025.":                      "on <2025-08-17> <--08-17> 17 august 2025",
		"the 5th of May":                          "the <--05-05> [5th] of may",
		"August 17th, 2025":                       "<2025-08-17> <--08-17> august [17th] 2025",
		"Sept. 3 2026 and dec 24":                 "<2026-09-03> <--09-03> sept 3 2026 and <--12-24> dec 24",
		"3 May 4 June":                            "<--05-03> 3 may <--06-04> 4 june",
		"45 May, May 2023, May 5.2, 2 mayors":     "45 may may 2023 <--05-05> may [5.2] (5) (2) 2 mayors",
		"a ◱hash=3f9c gist=some words◲ b":         "a b",
		"◰4 heading ◰0x":                          "heading x",
		"end. Next -- and... so":                  "end next and so",
		"東京タワー":                                   "{東} {東京} {京} {京タ} {タワ} {ワー}",
		"猫":                                       "{猫}",
		"Tokyo東京Tower":                            "tokyo {東} {東京} {京} tower",
		"\u1107\u116e\u1109\u1161\u11ab 항구":       "{부산} {항구}",
		"мои\u0306 за\u0301мок":                   "мой замок",
		"كِتَابٌ שָׁלוֹם أحمد مدرســة":            "كتاب שלום احمد مدرسه",
		"Straße GROẞ Œuvre Ærø Łódź ﬁle İzmir":    "strasse gross oeuvre aero lodz file izmir",
		"ｶﾒﾗ":                                     "{カメ} {メラ}",
		"서울에서 회의":                                 "{서울} {울에} {에서} {회의}",
		"รถไฟ":                                    "{รถ} {ถไ} {ไฟ}",
		"ไป":                                      "{ไป}",
		"हिन्दी भाषा":                             "हिन्दी भाषा",
		"a\x00b\xffc":                             "a b c",
		strings.Repeat("x", 100):                  strings.Repeat("x", textpkg.MaxToken),
	} {
		if got := spell(text); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}
