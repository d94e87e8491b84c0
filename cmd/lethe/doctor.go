package main

import (
	"errors"
	"fmt"
	"os"

	"lethe/agent/config"
	"lethe/cmd/lethe/doctor"
	"lethe/mind"
)

func (p *program) doctorCommand(c call) (err error) {
	if p.home.Dir, err = p.dir(); err != nil {
		return err
	}
	if c.is("harness") {
		fmt.Fprintf(p.out, "%s%s -->\n%s", mind.VersionMark, mind.RulesVersion(), mind.Rules())
		return nil
	}
	troubles := 0
	tell := func(f doctor.Finding) {
		if f.State == doctor.Trouble {
			troubles++
		}
		if f.Text = oneLine(f.Text); p.json {
			printLine(p.out, f)
			return
		}
		fmt.Fprintf(p.out, "%-7s  %-13s  %s\n", f.State, f.What, f.Text)
		if f.Remedy != "" {
			fmt.Fprintf(p.out, "%24s $ %s\n", "", f.Remedy)
		}
	}
	p.examine(func(state, what, remedy string, err error) {
		if err != nil {
			tell(doctor.Finding{State: state, What: what, Text: plain(err), Remedy: remedy})
		}
	})
	doctor.Exam{Home: p.home, Settings: p.settings.Settings, Request: !c.is("no-request"), Tell: tell}.Run(c)
	if troubles > 0 {
		err = fmt.Errorf("doctor: %d found in trouble", troubles)
	}
	return err
}

// examine reads the settings, and tells of them and of the bridges' tokens and lists.
func (p *program) examine(found func(state, what, remedy string, err error)) {
	err := config.Read(p.home.Dir, &p.settings)
	found(doctor.Trouble, "configuration", "${EDITOR:-vi} "+config.File(p.home.Dir), err)
	if _, err := os.Stat(p.bridgeDir()); err != nil {
		return
	}
	_, err = p.token()
	found(doctor.Warning, "bridges", "export "+botToken+"=…", err)
	rules, err := p.policy().Rules()
	who := p.lethe("bridge telegram who")
	found(doctor.Trouble, "bridges", who, err)
	if err == nil && len(rules.Users)+len(rules.Chats) == 0 {
		found(doctor.Warning, "bridges", who, errors.New("nobody may write over Telegram: allow the id that it tells"))
	}
}
