package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/share/hosts"
	"lethe/cmd/lethe/console"
)

// ShowHosts lists the hosts of the home, or what they ask of the store and what that costs.
func (app *App) ShowHosts(ctx context.Context, cost bool) error {
	shared, err := app.Others()
	if err != nil {
		return err
	}
	all, err := shared.Hosts(ctx)
	if err != nil {
		return err
	}
	if cost {
		return app.showCost(all)
	}
	return app.Show(all, func(out io.Writer) {
		rows := console.NewTable("HOST", "SAID THAT IT IS THERE", "IDENTITIES")
		for _, host := range all {
			var lives []string
			for _, life := range host.Lives {
				lives = append(lives, life.Name)
			}
			rows.Row(hostName(host), console.Ago(host.At), strings.Join(lives, ", "))
		}
		rows.Write(out)
	})
}

// bill is what a host costs while it asks as much as it did since its daemon began.
type bill struct {
	hosts.Seen
	Day   int64      `json:"requests_day"`
	Month budget.USD `json:"usd_month"` // of 30 days
	Turns budget.USD `json:"usd_million_turns,omitempty"`
}

// newBill prices what a host told, unless it is silent. A GET costs 2/25 of a write, as at S3 and R2.
func newBill(host hosts.Seen, conf hosts.Config) bill {
	b := bill{Seen: host}
	writes, gets := float64(host.Asked.Puts+host.Asked.Lists), float64(host.Asked.Gets)
	if days := host.At.Sub(host.Asked.Since).Hours() / 24; days > 0 && !host.Away {
		b.Day = int64((writes + gets) / days)
		b.Month = budget.Writes(conf.URL, conf.PutUSD, int64((writes+gets*2/25)*30/days))
	}
	if turns := float64(host.Asked.Turns); turns > 0 {
		b.Turns = budget.Writes(conf.URL, conf.PutUSD, int64((writes+gets*2/25)*1e6/turns))
	}
	return b
}

// showCost tells what hosts cost. Requests of other processes than their daemons are not counted.
func (app *App) showCost(all []hosts.Seen) error {
	var bills []bill
	var day int64
	var month budget.USD
	for _, host := range all {
		b := newBill(host, app.Settings.Share)
		bills, day, month = append(bills, b), day+b.Day, month+b.Month
	}
	return app.Show(bills, func(out io.Writer) {
		if !strings.HasPrefix(app.Settings.Share.URL, "s3") {
			fmt.Fprintln(out, "only requests to a bucket are counted: a directory and JetStream bill none")
			return
		}
		rows := console.NewTable("HOST", "SINCE", "PUT", "GET", "LIST", "A DAY", "USD A MONTH", "TURNS", "USD A MILLION")
		for _, b := range bills {
			switch {
			case b.Asked.Since.IsZero():
				rows.Row(hostName(b.Seen), "not told")
			case b.Away:
				rows.Row(hostName(b.Seen), b.Asked.Since, b.Asked.Puts, b.Asked.Gets, b.Asked.Lists, "silent")
			default:
				rows.Row(hostName(b.Seen), b.Asked.Since, b.Asked.Puts, b.Asked.Gets, b.Asked.Lists, b.Day, b.Month, b.Asked.Turns, b.Turns)
			}
		}
		rows.Row("in all", "", "", "", "", day, month)
		rows.Write(out)
	})
}

func hostName(host hosts.Seen) string {
	name := cmp.Or(host.Label, "-")
	if host.Alike {
		name += " " + host.ID
	}
	if host.Here {
		name += " (this one)"
	}
	if host.Left {
		name += " (drained)"
	}
	return name
}

// Drain asks a host, by its name or number, to leave its lives to others.
func (app *App) Drain(ctx context.Context, who string) error {
	shared, err := app.Others()
	if err != nil {
		return err
	}
	all, err := shared.Hosts(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for k := range all {
		if all[k].ID == who {
			ids = []string{who}
			break
		}
		if all[k].Label == who {
			ids = append(ids, all[k].ID)
		}
	}
	switch len(ids) {
	case 0:
		err = fmt.Errorf("drain %s: %w: lethe hosts lists the hosts", who, home.ErrNotFound)
	case 1:
		err = shared.Drain(ctx, ids[0])
	default:
		err = fmt.Errorf("drain %s: several hosts have that name: give the number of one: %q", who, ids)
	}
	if err == nil {
		app.Note("asked %s; lethe hosts tells where its lives go on", who)
	}
	return err
}
