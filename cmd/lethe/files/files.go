// Package files is lethe files: it lists the files that an identity has worked on, and brings back what they were.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/mind/files"
)

// Row is a version of a file.
type Row struct {
	File string `json:"file"`
	files.Version
	With []string `json:"with,omitempty"` // the files that were changed with it; only of one file's versions
}

// Restore brings back the text of a ref as the file of a name, and lists its versions.
func Restore(ctx context.Context, app *cli.App, id home.Identity, name, ref string) error {
	hash, err := app.ParseHash(ref)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(id.Files().Files[name], func(v files.Version) bool { return v.Was == hash }) {
		err := fmt.Errorf("restore %s of %s: %s is no text that it had: %w", name, id.Name, ref, home.ErrNotFound)
		return exit.Hint(err, "%s lists them below BEFORE", app.Lethe("files %s %s", id.Name, name))
	}
	wish, answer := home.RestoreWish(hash, name)
	if err := answer.Drop(id); err != nil { // to a command that was killed
		return err
	}
	here := func() error { return app.Opened(ctx, id, (*host.Agent).Restore) }
	busy := func() { app.Note("%s is at work; it is done after that", id.Name) }
	if err := report.Obey(ctx, id, wish, name, busy, here); err != nil {
		return err
	}
	if why := answer.Text(id); why != "" {
		return errors.Join(fmt.Errorf("restore %s of %s: not done: %s", name, id.Name, why), answer.Drop(id))
	}
	return List(app, id, name)
}

// List shows the newest version of each file, or all versions of the one with a name.
func List(app *cli.App, id home.Identity, name string) error {
	fold := id.Files()
	rows, all := []Row{}, fold.Files
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
			row := Row{file, version, nil}
			if name != "" && version.Made {
				row.With = fold.With(file, version)
			}
			rows = append(rows, row)
		}
	}
	return app.Show(rows, func(out io.Writer) {
		if len(rows) == 0 {
			fmt.Fprintf(out, "%s has worked on no files yet\n", id.Name)
			return
		}
		table := console.NewTable("AT", "CALL", "BEFORE", "BYTES", "FILE", "WITH", "WHY")
		for _, row := range rows {
			before, _ := app.Look.Store.Find(row.Was) // without one its size is 0
			table.Row(row.At, row.Call, row.Was, len(before.Body), row.File, strings.Join(row.With, " "), row.Why.Gist)
		}
		table.Write(out)
	})
}
