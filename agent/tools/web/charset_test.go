package web

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"lethe/internal/test/lethetest"
)

var update = flag.Bool("update", false, "write charsets.gz anew")

// The names of each charset, those first by which golang.org/x/text knows it.
const known = `windows-1252 iso-8859-1 iso8859-1 latin1 ascii us-ascii cp1252
windows-1250 cp1250
windows-1251 cp1251
windows-1253 cp1253
windows-1254 cp1254 iso-8859-9 latin5
windows-1255 cp1255
windows-1256 cp1256
windows-1257 cp1257
windows-1258 cp1258
windows-874 tis-620 iso-8859-11
iso-8859-2 latin2
iso-8859-3 latin3
iso-8859-4 latin4
iso-8859-5
iso-8859-6
iso-8859-7
iso-8859-8 iso-8859-8-i
iso-8859-10 latin6
iso-8859-13
iso-8859-14
iso-8859-15 latin9
iso-8859-16
koi8-r koi8
koi8-u
ibm866 cp866
macintosh x-mac-roman
x-mac-cyrillic
gbk gb2312 gb18030 x-gbk
big5 big5-hkscs
euc-kr ks_c_5601-1987 korean windows-949 cp949
shift_jis shift-jis sjis x-sjis windows-31j
euc-jp x-euc-jp`

// The charsets are those of golang.org/x/text: each byte, and each two.
func TestCharsets(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	for names := range strings.Lines(known) {
		names = strings.TrimSpace(names)
		codec, err := htmlindex.Get(strings.Fields(names)[0])
		lethetest.Must(t, err)
		decoder, out := codec.NewDecoder(), make([]byte, 16)
		one := func(code ...byte) rune {
			decoder.Reset()
			n, _, err := decoder.Transform(out, code, true)
			if r, size := utf8.DecodeRune(out[:n]); err == nil && size == n {
				return r
			}
			return utf8.RuneError
		}
		fmt.Fprint(&want, names, "\t")
		var doubles strings.Builder
		for lead := range leads {
			alone := one(byte(0x80 + lead))
			want.WriteRune(alone)
			for trail := range trails {
				r := utf8.RuneError
				if alone == utf8.RuneError {
					r = one(byte(0x80+lead), byte(0x40+trail))
				}
				doubles.WriteRune(r)
			}
		}
		if strings.Trim(doubles.String(), "\uFFFD") != "" {
			want.WriteString(doubles.String())
		}
		want.WriteString("\n")
	}
	if *update {
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		fmt.Fprint(w, want.String())
		lethetest.Must(t, w.Close())
		lethetest.Must(t, os.WriteFile("charsets.gz", packed.Bytes(), 0o644))
		charsets = packed.Bytes()
	}
	for line := range strings.Lines(want.String()) {
		names, chars, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		for _, name := range strings.Fields(names) {
			if got := string(characters(name)); got != chars {
				t.Errorf("%s is not as golang.org/x/text has it: run with -update", name)
			}
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"windows-1251 Лета", "gbk 忘川", "big5 忘川", "euc-kr 망각의 강", "shift_jis 忘却のカワ ｶﾜ", "euc-jp 忘却の川", "koi8-r Лета"} {
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
		"Köln": "Köln", "K\xf6ln \x80": "Köln €", "\xff\xfeK\x00\xf6\x00l": "Kö", "\xfe\xff\x00K\x00\xf6": "Kö", "\xfe": "þ", "": "",
		"<meta charset=utf-8>\xf6": "<meta charset=utf-8>\uFFFD", "<meta charset=gbk>\xcd\xfc\xb4": "<meta charset=gbk>忘\uFFFD",
		"<meta charset=nonsense>K\xf6ln": "<meta charset=nonsense>Köln",
	} {
		if got := decode("text/html", []byte(page)); got != want {
			t.Errorf("%q gives %q, want %q", page, got, want)
		}
	}
}
