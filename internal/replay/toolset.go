package replay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"lethe/tools"
)

// toolset is the tools array of an agent, whose tokens are part of every
// request. Nothing is ever run with it.
func toolset() (json.RawMessage, error) {
	dir, err := os.MkdirTemp("", "lethe-replay-*")
	if err != nil {
		return nil, fmt.Errorf("describe tools: %w", err)
	}
	defer os.RemoveAll(dir)
	agent := filepath.Join(dir, "agent")
	if err := os.Mkdir(agent, 0o700); err != nil {
		return nil, fmt.Errorf("describe tools: %w", err)
	}
	set, err := tools.New(tools.Config{Home: dir, AgentDir: agent, Workspace: filepath.Join(agent, "workspace")})
	if err != nil {
		return nil, fmt.Errorf("describe tools: %w", err)
	}
	for _, t := range memoryTools {
		set.Add(t)
	}
	return set.Schemas(), nil
}

// memoryTools are described as they were when the figures of the report were made.
var memoryTools = []tools.Tool{
	{Name: "UNCOMPACT", Description: `Show the original behind a ref ◱hash=… gist=…◲, page by page. Give the hash as it stands in
the ref. offset and limit count characters; without them you get the first page. The
result says how much there is and where the next page begins. Only what you have seen
yourself, or what a user has named to you as hash=…, can be opened.`,
		Schema: json.RawMessage(`{"type":"object","properties":{"ref":{"type":"string","description":"the hash of the ref, 16 or more hex digits"},"offset":{"type":"integer","description":"first character to show, from 0"},"limit":{"type":"integer","description":"how many characters to show"}},"required":["ref"],"additionalProperties":false}`)},
	{Name: "RECALL", Description: `Search everything that has faded from your context, by words. You get the hash and the gist of
what matches best; open one with UNCOMPACT. Use names, paths and identifiers rather than
sentences.`,
		Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"words to look for"},"limit":{"type":"integer","description":"how many hits, default 5"}},"required":["query"],"additionalProperties":false}`)},
	{Name: "COMPACT", Description: `Let the older part of your context fade now, in the background. You rarely need this: it happens by
itself when the context grows too large.`,
		Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
}
