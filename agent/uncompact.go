package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"lethe/blobs"
	"lethe/llm"
	"lethe/mind"
	"lethe/tools"
)

// uncompactTool lets the agent open a ref. What it shows is data, appended at
// the end of the context, where it does not disturb the prefix.
func (a *Agent) uncompactTool() tools.Tool {
	return tools.Tool{
		Name: "UNCOMPACT",
		Description: strings.TrimSpace(`
Show the original behind a ref ◱hash=… gist=…◲, page by page. Give the hash as it stands in
the ref. offset and limit count characters; without them you get the first page. The
result says how much there is and where the next page begins. Only what you have seen
yourself, or what a user has named to you as hash=…, can be opened.`),
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"ref":{"type":"string","description":"the hash of the ref, 16 or more hex digits"},` +
			`"offset":{"type":"integer","description":"first character to show, from 0"},` +
			`"limit":{"type":"integer","description":"how many characters to show"}},` +
			`"required":["ref"],"additionalProperties":false}`),
		Run: func(_ context.Context, c tools.Call) tools.Result { return a.uncompact(c.Args) },
	}
}

func (a *Agent) uncompact(raw json.RawMessage) tools.Result {
	var args struct {
		Ref           string
		Offset, Limit int
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return wrong("UNCOMPACT takes ref (text), offset and limit (whole numbers): %v", err)
	}
	b, short, err := a.open(args.Ref, a.state.Grants)
	if err != nil {
		return wrong("%v. Copy the hash from a ref in your context.", err)
	}
	a.call.opened = b.Hash.String()
	return tools.Result{Body: page(b, short, args.Offset, args.Limit, max(minPage, min(a.pageSize(), a.call.share)))}
}

// open returns the blob behind a ref, or behind its hash alone, if it is one of the
// life's own or in grants.
func (a *Agent) open(ref string, grants map[string]bool) (b blobs.Blob, short string, err error) {
	short = strings.TrimSpace(ref)
	if refs := blobs.ParseRefs(short); len(refs) == 1 {
		short = refs[0].Hash
	}
	short = strings.TrimPrefix(short, "hash=")
	h, err := resolve(short, a.store, a.id.Self)
	if err != nil {
		return b, short, err
	}
	if b, err = a.store.Get(h); err != nil {
		return b, short, err
	}
	if b.Life != a.id.Self && h.String() != a.id.Self && !grants[h.String()] {
		return blobs.Blob{}, short, fmt.Errorf("resolve %q: no such blob", short)
	}
	return b, short, nil
}

// refs lets READ_FILE open what users sent. It runs beside the agent's goroutine,
// so it goes by the grants as they were when its call began.
type refs Agent

func (r *refs) OpenRef(hash string) (gist string, body []byte, err error) {
	a := (*Agent)(r)
	b, _, err := a.open(hash, a.call.granted)
	return b.Gist, b.Body, err
}

// minPage is how many weighted characters a page shows at least, of however many
// that are asked for at once.
const minPage = 200

func page(b blobs.Blob, short string, offset, limit, most int) []byte {
	text := []rune(string(b.Body))
	offset = min(max(offset, 0), len(text))
	if limit <= 0 || limit > most {
		limit = most
	}
	end := offset
	for end < min(offset+limit, len(text)) && most > 0 {
		most -= llm.Weight(mind.Result([]byte(string(text[end])), 0, mind.Ref{}))
		end++
	}
	head := fmt.Sprintf(mind.OpenedText+"%s (%s), from %s: characters %d to %d of %d", short, b.Gist, b.At.Format("2006-01-02 15:04"), offset, end, len(text))
	if end < len(text) {
		head += fmt.Sprintf("; go on with offset=%d", end)
	}
	return []byte(head + "\n\n" + string(text[offset:end]))
}

func wrong(format string, args ...any) tools.Result {
	return tools.Result{Err: true, Body: fmt.Appendf(nil, format, args...)}
}

// compactTool lets the agent start a compaction.
func (a *Agent) compactTool() tools.Tool {
	return tools.Tool{
		Name: "COMPACT",
		Description: strings.TrimSpace(`
Start forgetting now, in the background: the older part of your context is cut into
chunks and summarised, and the summaries take its place before one of your next calls.
Use it when a piece of work is done and its details are no longer needed. Nothing is lost:
each original stays one UNCOMPACT away. It is done for you when the context is nearly full.`),
		Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Run: func(context.Context, tools.Call) tools.Result {
			if a.forgetting.job != nil {
				return wrong("a compaction is under way already; its summaries come in by themselves.")
			}
			if !a.grown() {
				return wrong("you have just forgotten what could be forgotten; little has come in since.")
			}
			a.forgetting.wish = "agent"
			return tools.Result{Body: []byte("a compaction begins in the background. Go on; the summaries come in by themselves.")}
		},
	}
}
