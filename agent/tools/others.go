package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"lethe/agent/tools/catalogue"
)

// How much TOOLS shows: so many items, and of each that was not asked for by name so many bytes.
const (
	foundItems = 8
	foundBytes = 1500
)

// otherTools are TOOLS and USE, for an identity that may use what others made.
func (s *Set) otherTools() []Tool {
	return []Tool{runTool("TOOLS", s.findOthers), runTool("USE", s.useOther)}
}

// HasOthers reports whether there is anything that others made and that may be used.
func (s *Set) HasOthers() bool {
	return s.Has("USE") && slices.ContainsFunc(s.Others, func(o catalogue.Source) bool { return len(o.Items()) > 0 })
}

type toolsArgs struct {
	Query string `json:"query"`
}

func (s *Set) findOthers(ctx context.Context, _ Call, a toolsArgs) (Result, error) {
	items := catalogue.All(s.Others, func(o catalogue.Source) []catalogue.Item { return o.Ask(ctx) })
	name := strings.TrimSpace(a.Query)
	for _, i := range items {
		if name == i.Name || name == string(i.Kind)+" "+i.Name {
			return textf("%s\n\n%s", i.Line(), i.Text), nil
		}
	}
	found := catalogue.Find(items, a.Query, foundItems)
	if len(found) == 0 {
		return Result{}, fmt.Errorf("none of %d fits these words: give others, such as what it would work on", len(items))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "The nearest of %d, of which none may fit:\n", len(items))
	for _, i := range found {
		fmt.Fprintf(&out, "\n%s\n", i.Line())
		if len(i.Text) > foundBytes {
			i.Text = "(TOOLS with its name shows the rest)"
		}
		fmt.Fprintln(&out, i.Text)
	}
	return textf("%s", out.String()), nil
}

type useArgs struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty" about:"what that tool takes"`
}

func (s *Set) useOther(ctx context.Context, c Call, a useArgs) (Result, error) {
	args := a.Args
	var quoted string
	if json.Unmarshal(args, &quoted) == nil { // models also write an object as a string
		args = json.RawMessage(quoted)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	var names []string
	server, tool := path.Split(a.Name)
	for _, source := range s.Others {
		for _, i := range source.Items() {
			of, _ := path.Split(i.Name)
			unasked := i.Name+"/" == server // it tells its tools when it is called
			answers := tool == catalogue.Answering && of == server
			ofServer := unasked || answers
			if i.Name == a.Name || ofServer {
				answer, err := source.Use(ctx, a.Name, args, catalogue.Call{ID: c.ID, Life: c.Life, Output: c.Output})
				return Result{Body: answer.Text, Err: answer.Err, Files: answer.Files}, err
			}
			names = append(names, i.Name)
		}
	}
	if len(names) == 0 {
		return Result{}, fmt.Errorf("there is no %s, nor anything else that others made", quote(a.Name))
	}
	return Result{}, fmt.Errorf("there is no %s: did you mean %s? TOOLS finds what there is",
		quote(a.Name), names[nearest(a.Name, names)])
}
