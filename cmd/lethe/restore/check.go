package restore

import (
	"context"
	"fmt"
	"io"

	"lethe/agent/home"
	"lethe/agent/share/hosts"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// Check reads all that the store of the home has, and tells what a restore would lose.
func Check(ctx context.Context, app *cli.App) error {
	conf := app.Settings.Share
	if conf.URL == "" {
		return exit.Usagef("check --share: this home is on one host alone: [share] url says where it is stored")
	}
	show := app.Progress()
	tell := func(read hosts.Audit) {
		show(int64(read.Texts), int64(read.Texts)+1, "%d texts, %s, faults: %d", read.Texts, console.Megabytes(read.Bytes),
			len(read.Faults))
	}
	found, err := hosts.Check(ctx, app.Home, conf, tell)
	if err != nil {
		return err
	}
	err = app.Show(found, func(out io.Writer) {
		for _, fault := range found.Faults {
			fmt.Fprintf(out, "fault     %s: %s\n          %s.\n", fault.Of, console.OneLine(fault.What), fault.Means)
		}
		fmt.Fprintf(out, "store: identities: %d, texts: %d (%s); faults: %d\n", found.Lives, found.Texts,
			console.Megabytes(found.Bytes), len(found.Faults))
	})
	if err == nil && len(found.Faults) > 0 {
		err = fmt.Errorf("check the store: %w: faults: %d", home.ErrCorrupt, len(found.Faults))
		err = exit.Hint(err, "a host where lethe check --share found this writes again what it has, within two hours; start "+
			"it again: then at once")
	}
	return err
}
