package main

import (
	"time"

	"lethe/agent/home"
	"lethe/bridge/report"
)

// identityAt finds an identity, and its state at a moment.
func identityAt(app *app, who, moment string) (id home.Identity, then home.Then, err error) {
	when, err := report.ParseMoment(moment, time.Now())
	if err != nil {
		return id, then, err
	}
	id, err = app.find(who)
	if err != nil {
		return id, then, err
	}
	then, err = home.At(id, app.look.Store, when)
	return id, then, err
}
