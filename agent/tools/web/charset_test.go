package web

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"

	"lethe/internal/test/lethetest"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"windows-1251 Лета", "gbk 忘川", "big5 忘川", "euc-kr 망각의 강",
		"shift_jis 忘却のカワ ｶﾜ",
		"euc-jp 忘却の川", "koi8-r Лета"} {
		name, text, _ := strings.Cut(want, " ")
		codec, err := htmlindex.Get(name)
		lethetest.Must(t, err)
		page, err := codec.NewEncoder().String(text)
		lethetest.Must(t, err)
		if got := decode("text/html; charset="+strings.ToUpper(name), []byte(page)); got != text {
			t.Errorf("%s gives %q, want %q", name, got, text)
		}
		meta := `<html><meta http-equiv="Content-Type" content="text/html; charset=` + name + `">`
		if got := decode("text/html", []byte(meta+page)); got != meta+text {
			t.Errorf("%s by a meta gives %q", name, got)
		}
	}
	for page, want := range map[string]string{
		"Köln": "Köln", "K\xf6ln \x80": "Köln €", "\xff\xfeK\x00\xf6\x00l": "Kö\uFFFD", "\xfe\xff\x00K\x00\xf6": "Kö",
		"\xfe": "þ", "": "",
		"<meta charset=utf-8>\xf6":                  "<meta charset=utf-8>\uFFFD",
		"<p>ö" + strings.Repeat(" ", 1024) + "\xf6": "<p>ö" + strings.Repeat(" ", 1024) + "\uFFFD",
		"<meta charset=gbk>\xcd\xfc\xb4":            "<meta charset=gbk>忘\uFFFD",
		"<meta charset=nonsense>K\xf6ln":            "<meta charset=nonsense>Köln",
	} {
		if got := decode("text/html", []byte(page)); got != want {
			t.Errorf("%q gives %q, want %q", page, got, want)
		}
	}
}
