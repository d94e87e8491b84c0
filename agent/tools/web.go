package tools

import (
	"context"
	"fmt"
	"strings"

	"lethe/agent/tools/catalogue"
	"lethe/agent/tools/web"
	"lethe/internal/picture"
)

// webTools returns FETCH and SEARCH if they are configured. Without a network it returns nil.
func (s *Set) webTools() (list []Tool) {
	if s.Offline {
		return nil
	}
	client := web.New(s.Web)
	if s.Web.Fetch {
		list = append(list, runTool("FETCH", fetcher{client}.fetch))
	}
	if s.Web.Search != "" {
		list = append(list, runTool("SEARCH", fetcher{client}.search))
	}
	return list
}

type fetcher struct{ *web.Client }

type fetchArgs struct {
	URL string `json:"url"`
}

func (f fetcher) fetch(ctx context.Context, _ Call, a fetchArgs) (Result, error) {
	page, err := f.Fetch(ctx, a.URL)
	if err != nil {
		return Result{}, fmt.Errorf("fetch %s: %w", quote(a.URL), err)
	}
	head := page.URL
	for _, about := range []string{page.Title, page.Date, page.Type, sizeText(int64(len(page.Body)))} {
		if about != "" {
			head += " · " + about
		}
	}
	r := textf("[%s]\n\n%s", head, page.Text)
	if page.Text != nil {
		return r, nil
	}
	if _, err := picture.Size(page.Body); err != nil {
		return Result{}, fmt.Errorf("fetch %s: it is %s, which is no text", quote(a.URL), page.Type)
	}
	r.Files = []catalogue.File{{Name: "picture", Type: page.Type, Data: page.Body}}
	return r, nil
}

type searchArgs struct {
	Query string `json:"query"`
}

func (f fetcher) search(ctx context.Context, _ Call, a searchArgs) (Result, error) {
	hits, err := f.Search(ctx, a.Query)
	if err != nil {
		return Result{}, fmt.Errorf("search: %w", err)
	}
	var out strings.Builder
	for i, h := range hits {
		fmt.Fprintf(&out, "%d. %s\n%s\n%s\n\n", i+1, joined(h.Title), joined(h.URL), clip(joined(h.Content+h.Description), 500))
	}
	if len(hits) == 0 {
		out.WriteString("nothing was found: try other words")
	}
	return textf("%s", strings.TrimSpace(out.String())), nil
}
