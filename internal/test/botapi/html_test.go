package botapi_test

import (
	"fmt"
	"lethe/internal/test/botapi"
	"strings"
	"testing"
)

func TestParseHTML(t *testing.T) {
	for _, c := range []struct{ in, text, want string }{
		{"a <b>b <i>😀</i></b> &lt;&amp;&#x41;", "a b 😀 <&A", "bold 2+4, italic 4+2"},
		{"<b><i>a</i></b>", "a", "bold 0+1, italic 0+1"},
		{`<a href="http://a.example/?b&amp;c"><s>d</s></a>`, "d", "text_link 0+1 http://a.example/?b&c, strikethrough 0+1"},
		{`<blockquote><pre><code class="language-go">a</code></pre></blockquote>`, "a", "blockquote 0+1, pre 0+1 go"},
		{"<pre>a</pre><code>b</code> > c", "ab > c", "pre 0+1, code 1+1"},
	} {
		text, entities, err := botapi.ParseHTML(c.in)
		var got []string
		for _, e := range entities {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %d+%d %s", e.Type, e.Offset, e.Length, e.URL+e.Language)))
		}
		if s := strings.Join(got, ", "); err != nil || text != c.text || s != c.want {
			t.Errorf("%s: %q, %s, %v", c.in, text, s, err)
		}
	}
	for in, want := range map[string]string{
		"a < b":                              "element name",
		"<blink>a</blink>":                   "unsupported start tag",
		"<b onclick=x>a</b>":                 "unquoted",
		"a & b":                              "entity",
		"<b>a":                               "closed by </html>",
		"a</b>":                              "closed by </b>",
		"<b><i>a</b></i>":                    "closed by </b>",
		"<b></b>":                            "empty b",
		"<b>a<b>b</b></b>":                   "inside itself",
		"<b><code>a</code></b>":              "code inside b",
		"<code><b>a</b></code>":              "bold inside code",
		"<pre><i>a</i></pre>":                "italic inside pre",
		"<pre>a<code>b</code></pre>":         "code inside pre",
		`<a href="javascript:b">c</a>`:       "a link to",
		`<code class="language-go">a</code>`: "attribute class",
		`<pre><code class="language-go">a</code>b</pre>`: "code inside pre",
		"\xff":                      "utf-8",
		strings.Repeat("x", 35_001): "35001 bytes",
	} {
		if _, _, err := botapi.ParseHTML(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50s: %v, want %s", in, err, want)
		}
	}
}
