package tools

import (
	"embed"
	"encoding/json"
	"strings"
)

//go:embed *.md
var descriptions embed.FS

// describe returns the text that tells the model about a tool.
func describe(name string) string {
	b, err := descriptions.ReadFile(name + ".md")
	if err != nil {
		panic(err) // a tool without its description
	}
	return strings.TrimSpace(string(b))
}

// Argument schemas, written out: their bytes are part of every request.
var (
	saySchema = json.RawMessage(`{"type":"object","properties":{"room":{"type":"string","description":"name of the room, like dev"},"message":{"type":"string","description":"what to say"}},"required":["room","message"],"additionalProperties":false}`)

	roomSchema = json.RawMessage(`{"type":"object","properties":{"room":{"type":"string","description":"name of the room, like dev"}},"required":["room"],"additionalProperties":false}`)

	readSchema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"file, relative to the workspace, or self/… or rooms/…"},"offset":{"type":"integer","description":"first line, counted from 1; negative counts from the end; default 1"},"limit":{"type":"integer","description":"number of lines; default 2000"},"column":{"type":"integer","description":"first byte of the line at offset, counted from 1; only to go on in a very long line"}},"required":["path"],"additionalProperties":false}`)

	writeSchema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"file, relative to the workspace, or self/…"},"content":{"type":"string","description":"the whole new content"}},"required":["path","content"],"additionalProperties":false}`)

	editSchema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"file, relative to the workspace, or self/…"},"old":{"type":"string","description":"exact text to replace; must occur once"},"new":{"type":"string","description":"text to put in its place; may be empty"}},"required":["path","old","new"],"additionalProperties":false}`)

	listSchema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"directory, relative to the workspace; . is the workspace itself; or self or rooms"}},"required":["path"],"additionalProperties":false}`)

	bashSchema = json.RawMessage(`{"type":"object","properties":{"command":{"type":"string","description":"what bash -c runs"},"timeout":{"type":"integer","description":"seconds until it is killed; at most 600"}},"required":["command"],"additionalProperties":false}`)
)

func (f *files) tools() []Tool {
	return []Tool{
		{Name: "READ_FILE", Description: describe("read_file"), Schema: readSchema, Run: f.read},
		{Name: "WRITE_FILE", Description: describe("write_file"), Schema: writeSchema, Run: f.write},
		{Name: "EDIT_FILE", Description: describe("edit_file"), Schema: editSchema, Run: f.edit},
		{Name: "LIST", Description: describe("list"), Schema: listSchema, Run: f.list},
	}
}
