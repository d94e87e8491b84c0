// Package files is lethe files: it lists the files that an identity has worked on.
package files

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"lethe/agent/home"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/mind/files"
)

// Row is a version of a file.
type Row struct {
	File string `json:"file"`
	files.Version
}

// List shows the newest version of each file, or all versions of the one with a name.
func List(app *cli.App, id home.Identity, name string) error {
	rows, all := []Row{}, id.Files().Files
	if name != "" && all[name] == nil {
		err := fmt.Errorf("file %s of %s: %w", name, id.Name, home.ErrNotFound)
		return exit.Hint(err, "%s lists the files that it has worked on", app.Lethe("files %s", id.Name))
	}
	for _, file := range slices.Sorted(maps.Keys(all)) {
		versions := all[file]
		if name == "" {
			versions = versions[len(versions)-1:]
		} else if name != file {
			continue
		}
		for _, version := range versions {
			rows = append(rows, Row{file, version})
		}
	}
	return app.Show(rows, func(out io.Writer) {
		if len(rows) == 0 {
			fmt.Fprintf(out, "%s has worked on no files yet\n", id.Name)
			return
		}
		table := console.NewTable("AT", "CALL", "BEFORE", "BYTES", "FILE", "WHY")
		for _, row := range rows {
			before, _ := app.Look.Store.Find(row.Was) // without one its size is 0
			table.Row(row.At, row.Call, row.Was, len(before.Body), row.File, row.Why.Gist)
		}
		table.Write(out)
	})
}
