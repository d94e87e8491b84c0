package web

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"codeberg.org/readeck/go-readability/v2"
	markdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"lethe/internal/lazy"
	"lethe/internal/worker"
)

func init() { worker.Register("page", parse) }

// shortest is how much text an article has, in bytes; with less, the whole page is shown.
const shortest = 250

// inline are pictures that stand in the page themselves.
var inline = lazy.Regexp(`!\[[^\]]*\]\(data:[^)]*\)`)

// parse is what the worker runs: from the type, the address and the page, a line each, to a line with the title, one
// with the date, and the text.
func parse(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	kind, _ := lines.ReadString('\n')
	address, err := lines.ReadString('\n')
	if err != nil {
		return err
	}
	at, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return err
	}
	decoded, err := charset.NewReader(lines, strings.TrimSpace(kind))
	if err != nil {
		return err
	}
	page, err := html.Parse(decoded)
	if err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	article, err := readability.FromDocument(page, at)
	var text []byte
	var title, date string
	if err == nil && article.Node != nil {
		title = article.Title()
		if published, err := article.PublishedTime(); err == nil {
			date = published.Format(time.DateOnly)
		}
		text, err = markdown.ConvertNode(article.Node)
	}
	if err != nil || len(text) < shortest {
		text, err = markdown.ConvertNode(page, converter.WithDomain(at.String()))
	}
	text = bytes.ToValidUTF8(inline().ReplaceAll(text, nil), nil)
	_, werr := fmt.Fprintf(out, "%s\n%s\n%s\n", strings.Join(strings.Fields(title), " "), date, bytes.TrimSpace(text))
	return cmp.Or(err, werr)
}
