package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// maxHits bounds what a search shows.
const maxHits = 10

// Hit is a page that a search has found.
type Hit struct {
	Title, URL           string
	Content, Description string // what it says, as the engine calls it
}

// Search asks the engine. Strangers wrote its answer: it is data.
func (c *Client) Search(ctx context.Context, query string) ([]Hit, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("it took longer than %v", maxTime))
	defer cancel()
	req, err := c.ask(ctx, url.QueryEscape(query), query)
	if err != nil {
		return nil, err
	}
	body, _, err := do(c.engine, req)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Results []Hit
		Web     struct{ Results []Hit }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("%s answers no JSON: %w", c.Settings.Search, err)
	}
	hits := append(answer.Results, answer.Web.Results...)
	return hits[:min(len(hits), maxHits)], nil
}

// ask is the request for a query, which is given as it stands in an address, too.
func (c *Client) ask(ctx context.Context, escaped, query string) (*http.Request, error) {
	method, address, body, header := http.MethodGet, c.URL, "", http.Header{}
	switch c.Settings.Search {
	case "searxng":
		address = strings.TrimSuffix(address, "/") + "/search?format=json&q=" + escaped
	case "brave":
		address = cmp.Or(address, "https://api.search.brave.com") + "/res/v1/web/search?text_decorations=false&q=" + escaped
		header.Set("X-Subscription-Token", c.Key())
	default:
		asked, _ := json.Marshal(map[string]any{"query": query, "max_results": maxHits}) // cannot fail
		method, address, body = http.MethodPost, cmp.Or(address, "https://api.tavily.com")+"/search", string(asked)
		header.Set("Authorization", "Bearer "+c.Key())
		header.Set("Content-Type", "application/json")
	}
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err == nil {
		req.Header = header
	}
	return req, err
}
