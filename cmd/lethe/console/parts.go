package console

import (
	"fmt"
	"io"
	"strings"

	"lethe/agent/prompt"
	"lethe/bridge/terminal"
)

// WriteParts tells of the parts of an identity's next request, each with its tokens and a bar of their share.
func WriteParts(out io.Writer, name string, parts prompt.Parts) {
	fmt.Fprintf(out, "%s: about %d of %d tokens, epoch %d\n", name, parts.Used(), parts.Limit, parts.Epoch)
	part := func(name string, tokens int, remark string) {
		row := fmt.Sprintf("  %-7s %7d  %s %s", name, tokens, terminal.Bar(tokens, parts.Limit, 20), remark)
		fmt.Fprintln(out, strings.TrimRight(row, " "))
	}
	others := ""
	if parts.Others != 0 {
		others = fmt.Sprintf("%d of it: rules of people, and what others made", parts.Others)
	}
	part("system", parts.System, others)
	part("tools", parts.Tools, "")
	part("past", parts.Past, "what has faded, pins and MEMORY")
	part("entries", parts.Live, fmt.Sprintf("live: %d", parts.Entries))
	part("answer", parts.Answer, "kept free for it")
	part("free", parts.Free(), "")
}
