package main

import (
	"fmt"
	"strings"
)

// confirm tells the loss and asks for a yes, unless yes is set. It fails where nobody confirms.
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
