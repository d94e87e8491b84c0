package main

import (
	"fmt"
	"strings"
)

// confirm asks whether somebody wants what is about to happen, unless yes says so. The error says that nobody does.
func confirm(app *app, yes bool, loss, question string) error {
	if yes {
		return nil
	}
	if app.json {
		return usagef("--json asks nobody; add --yes")
	}
	answer, _ := app.readTyped(app.out, loss+question+" for good? Type yes: ", false)
	if answer != "yes" {
		return fmt.Errorf("%s: not confirmed, nothing was removed", strings.ToLower(question))
	}
	return nil
}
