package page

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"lethe/bridge/serve/api"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/servetest"
)

// loaded is what a view took to load, with a cold cache.
type loaded struct {
	Requests int      `json:"requests"`
	Bytes    int      `json:"bytes"`  // of bodies, as they were sent
	First    float64  `json:"first"`  // ms until something is painted, from the click on
	Server   float64  `json:"server"` // of these, until all of the HTML was there
	Names    []string `json:"names"`
}

// load opens a view in a tab whose cache is empty.
func load(t testing.TB, b *Browser, s *servetest.Server, path string) loaded {
	t.Helper()
	p := b.Open(t, s.Link(), Look{})
	p.Do(call(network.ClearBrowserCache, cdp.Empty{}))
	p.Goto(s.Page() + path)
	p.Until(`document.readyState === "complete" && performance.getEntriesByName("first-contentful-paint").length`)
	time.Sleep(500 * time.Millisecond) // what the page asks for behind its first line counts, too
	return Eval[loaded](p, `(() => {
		const page = performance.getEntriesByType("navigation")[0], parts = performance.getEntriesByType("resource");
		const all = [page, ...parts];
		return {requests: all.length + (document.querySelector("main[data-live]") ? 1 : 0), bytes: all.reduce((n, e) => n + e.encodedBodySize, 0),
			first: performance.getEntriesByName("first-contentful-paint")[0].startTime, server: page.responseEnd,
			names: all.map(e => e.name.replace(/^.*localhost:[0-9]+/, "") + " " + e.encodedBodySize)};
	})()`)
}

// BenchmarkFirstLine opens views of an identity whose LIFE has 100,000 lines, in a browser: go test -bench FirstLine -benchtime 5x
func BenchmarkFirstLine(b *testing.B) {
	br, s := startBrowser(b, shell), servetest.Start(b, lethetest.Dir(b), Routes, api.Routes)
	age(b, s.Backend, 100_000)
	for _, view := range []string{"now", "mind", "life", "forgetting", "cost", "recall", "triggers"} {
		b.Run(view, func(b *testing.B) {
			var first, server []float64
			var l loaded
			for range b.N {
				l = load(b, br, s, "/agents/ada/"+view)
				first, server = append(first, l.First), append(server, l.Server)
			}
			slices.Sort(first)
			slices.Sort(server)
			b.ReportMetric(first[len(first)/2], "ms-first")
			b.ReportMetric(server[len(server)/2], "ms-html")
			b.ReportMetric(float64(l.Requests), "requests")
			b.ReportMetric(float64(l.Bytes), "bytes")
			b.Log(fmt.Sprint(l.Names))
		})
	}
}
