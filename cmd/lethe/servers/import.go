package servers

import (
	"errors"
	"maps"
	"os"
	"slices"

	"lethe/agent/config"
	"lethe/agent/tools/mcp"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
)

// Import adds the servers of a file, and notes the servers that it leaves out. It returns the names of the added ones.
func Import(app *cli.App, path string) (added []string, err error) {
	text, err := config.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all, refused, err := mcp.Parse(text)
	if err != nil {
		refused = append(refused, err)
	}
	added = []string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := write(app, name, all[name]); err != nil {
			refused = append(refused, err)
			continue
		}
		added = append(added, name)
	}
	for _, err := range refused {
		app.Note("%s: left out: %v", path, err)
		if hint, _ := exit.HintOf(err); hint != "" {
			app.Note("hint: %s", hint)
		}
	}
	return added, nil
}

// ImportAll is Import of each file where other programs keep their servers, of this person and of the present
// directory.
func ImportAll(app *cli.App) (added []string, err error) {
	user, _ := os.UserHomeDir() // without one there is nothing of theirs
	added = []string{}
	for _, path := range mcp.Files(user, ".") {
		names, err := Import(app, path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return added, err
		}
		added = append(added, names...)
	}
	return added, nil
}
