package markup

import (
	"strings"
	"testing"

	"github.com/go-telegram/bot/models"
)

func entityAt(typ models.MessageEntityType, offset, length int) models.MessageEntity {
	return models.MessageEntity{Type: typ, Offset: offset, Length: length}
}

func TestCheckOne(t *testing.T) {
	link := func(url string) models.MessageEntity {
		return models.MessageEntity{Type: "text_link", Offset: 0, Length: 1, URL: url}
	}
	const text = "a😀b" // four units
	for name, tt := range map[string]struct {
		entity models.MessageEntity
		want   string // in the error; "" for none
	}{
		"whole":             {entityAt("bold", 0, 4), ""},
		"emoji":             {entityAt("bold", 1, 2), ""},
		"begins in a pair":  {entityAt("bold", 2, 2), "begins inside a surrogate pair"},
		"ends in a pair":    {entityAt("bold", 0, 2), "ends inside a surrogate pair"},
		"empty":             {entityAt("bold", 1, 0), "empty"},
		"empty at the end":  {entityAt("bold", 4, 0), "empty"},
		"negative offset":   {entityAt("bold", -1, 2), "outside"},
		"negative length":   {entityAt("bold", 1, -1), "outside"},
		"too long":          {entityAt("bold", 3, 2), "outside"},
		"huge":              {entityAt("bold", 3, int(^uint(0)>>1)), "outside"},
		"behind the end":    {entityAt("bold", 5, 1), "outside"},
		"unknown type":      {entityAt("blink", 0, 1), "unknown type"},
		"no type":           {entityAt("", 0, 1), "unknown type"},
		"mention":           {entityAt("mention", 0, 1), ""},
		"link":              {link("https://example.com/"), ""},
		"link without url":  {link(""), "url"},
		"link to localhost": {link("http://localhost:8080/"), "no dot"},
		"url elsewhere":     {models.MessageEntity{Type: "bold", Length: 1, URL: "https://example.com/"}, "text_link only"},
		"language":          {models.MessageEntity{Type: "pre", Length: 1, Language: "go"}, ""},
		"language of code":  {models.MessageEntity{Type: "code", Length: 1, Language: "go"}, "pre only"},
		"nobody":            {entityAt("text_mention", 0, 1), "user"},
		"user":              {models.MessageEntity{Type: "text_mention", Length: 1, User: &models.User{ID: 1}}, ""},
		"user elsewhere":    {models.MessageEntity{Type: "bold", Length: 1, User: &models.User{ID: 1}}, "user"},
		"no emoji":          {entityAt("custom_emoji", 1, 2), "emoji"},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, Check(text, []models.MessageEntity{tt.entity}), tt.want)
		})
	}
	wantError(t, Check("a\xff", nil), "utf-8")
}

func TestCheckNesting(t *testing.T) {
	at := entityAt
	quote := models.MessageEntityTypeExpandableBlockquote
	link := models.MessageEntity{Type: "text_link", Offset: 0, Length: 6, URL: "https://example.com/"}
	for name, tt := range map[string]struct {
		entities []models.MessageEntity
		want     string
	}{
		"none":                   {nil, ""},
		"side by side":           {[]models.MessageEntity{at("bold", 0, 2), at("bold", 2, 2)}, ""},
		"nested":                 {[]models.MessageEntity{at("bold", 0, 6), at("italic", 1, 3), at("spoiler", 1, 2)}, ""},
		"same span":              {[]models.MessageEntity{at("italic", 0, 6), at("bold", 0, 6)}, ""},
		"any order":              {[]models.MessageEntity{at("italic", 4, 2), at("bold", 0, 6)}, ""},
		"crossing":               {[]models.MessageEntity{at("bold", 0, 4), at("italic", 2, 4)}, "overlap"},
		"twice":                  {[]models.MessageEntity{at("bold", 0, 4), at("bold", 0, 4)}, "same type"},
		"bold in italic in bold": {[]models.MessageEntity{at("bold", 0, 6), at("italic", 0, 5), at("bold", 1, 2)}, "same type"},
		"bold in code":           {[]models.MessageEntity{at("code", 0, 6), at("bold", 1, 2)}, "hold no entities"},
		"bold of code":           {[]models.MessageEntity{at("code", 0, 6), at("bold", 0, 6)}, "hold no entities"},
		"code in bold":           {[]models.MessageEntity{at("bold", 0, 6), at("code", 1, 2)}, "nothing but a quotation"},
		"pre in italic":          {[]models.MessageEntity{at("italic", 0, 6), at("pre", 1, 2)}, "nothing but a quotation"},
		"code in a link":         {[]models.MessageEntity{link, at("code", 1, 2)}, "nothing but a quotation"},
		"pre in a quotation":     {[]models.MessageEntity{at("blockquote", 0, 6), at("pre", 1, 2)}, ""},
		"pre of a quotation":     {[]models.MessageEntity{at("pre", 0, 6), at("blockquote", 0, 6)}, ""},
		"quotation in itself":    {[]models.MessageEntity{at("blockquote", 0, 6), at(quote, 1, 2)}, "nested"},
		"quotation in bold":      {[]models.MessageEntity{at("bold", 0, 6), at("blockquote", 1, 2)}, ""},
		"quotation in a link":    {[]models.MessageEntity{link, at("blockquote", 1, 2)}, "cannot hold"},
		"link in a quotation":    {[]models.MessageEntity{at("blockquote", 0, 6), link}, ""},
		"mention in a link":      {[]models.MessageEntity{link, at("mention", 1, 2)}, "cannot hold"},
		"bold in a link":         {[]models.MessageEntity{link, at("bold", 1, 2)}, ""},
		"link in bold":           {[]models.MessageEntity{at("bold", 0, 6), link}, ""},
		"deep and crossing":      {[]models.MessageEntity{at("bold", 0, 6), at("italic", 0, 4), at("spoiler", 3, 3)}, "overlap"},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, Check("abcdef", tt.entities), tt.want)
		})
	}
}

func TestCheckURL(t *testing.T) {
	for url, want := range map[string]string{
		"https://example.com":                              "",
		"HTTP://Example.COM:8080/a?b=c#d":                  "",
		"http://user:secret@example.com/":                  "",
		"http://[2001:db8::1]:80/":                         "",
		"http://192.0.2.1/":                                "",
		"https://bücher.example/":                          "",
		"https://a%2db.example/":                           "",
		"tg://resolve?domain=telegram":                     "",
		"https://example.com/" + strings.Repeat("a", 2028): "",
		"https://example.com/" + strings.Repeat("a", 2029): "2049 bytes",
		"":                          "0 bytes",
		"README.md":                 "no scheme",
		"mailto:a@example.com":      "no scheme",
		"//example.com/":            "no scheme",
		"ftp://example.com/":        "unsupported scheme",
		"javascript://example.com":  "unsupported scheme",
		"http://localhost/":         "no dot",
		"http://./":                 "no dot",
		"http:///path":              "no dot",
		"http://a@/":                "no dot",
		"http://example.com:0/":     "port",
		"http://example.com:/":      "port",
		"http://example.com:65536":  "port",
		"http://[::1":               "IPv6",
		"http://[1.2.3.4]/":         "IPv6",
		"http://exa mple.com/":      "character",
		"http://example.com/\u2028": "character",
		"http://exa<mple.com/":      "in the host",
		"http://a%2.example/":       "in the host",
		"tg://user?id=1":            "names a user",
		"tg://?id=1":                "wrong name",
		"tg://a.b/":                 "wrong name",
	} {
		t.Run(url, func(t *testing.T) { wantError(t, checkURL(url), want) })
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("unexpected error: %v", err)
	case want != "" && err == nil:
		t.Errorf("no error, want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("error %q, want %q", err, want)
	}
}
