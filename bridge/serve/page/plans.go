package page

import (
	"net/http"

	"lethe/agent/config"
	"lethe/agent/work"
	"lethe/bridge/report"
	"lethe/mind"
)

// plans shows the plans of an identity as boards, and has them go on, wait or go.
var plans = view{Name: "work", Title: "Work", data: workOf, forms: map[string]form{"change": then(changePlan)}}

type workData struct {
	Plans []work.Plan
	State *mind.State
}

// workspace is where the plans of an identity are.
func (f *frame) workspace() string {
	s := config.Settings{}
	_ = config.Read(f.Dir, &s) // without them it has the usual one
	return s.Workspace(f.ID.Dir)
}

func workOf(f *frame, _ *http.Request) (content, error) {
	context, err := f.Context(f.ID)
	if err != nil {
		return nil, err
	}
	read, _ := work.Steps(f.workspace()) // the identity is told of those that cannot be read
	return &workData{read, context.State}, nil
}

func changePlan(f *frame, r *http.Request) (string, error) {
	context, err := f.Context(f.ID)
	if err != nil {
		return "", err
	}
	_, err = work.Obey(f.Dir, f.workspace(), context.State, r.FormValue("do"), field(r, "plan"), field(r, "gate"))
	if err != nil {
		err = report.Invalid("%v", err)
	}
	return "/agents/" + f.ID.Name + "/work", err
}

func (d *workData) show(html *htmlPage) {
	html.put("\n<h1>Work</h1>\n%s\n%s", html.wrong(),
		when(len(d.Plans) == 0, "<p class=\"text\">No plan: a file work/NAME.md of its workspace.</p>\n"))
	for _, plan := range d.Plans {
		html.put(`<h2><bdi>%s</bdi></h2>
<p><bdi>%s</bdi></p>
<form class="row" method="post" action="/agents/%s/work/change"><input type="hidden" name="plan" value="%s">`+
			`<input type="hidden" name="gate" value="%s">`, plan.Name, plan.Goal, html.ID.Name, plan.Name, plan.Gate(d.State))
		if plan.Waits(html.Dir, d.State) {
			html.put(`<span>It waits for you. %s</span> <button class="main" name="do" value="confirm">Confirm</button>`, plan.Bounds)
		} else {
			html.put(`<button name="do" value="pause">Pause</button>`)
		}
		html.put(` <button name="do" value="drop">Drop</button></form>
<div class="board">`)
		for _, column := range []string{" Waiting", ">At work", "?Asked", "!Failed", "xDone"} {
			html.put("<section><h3>%s</h3>\n<ul class=\"plain\">", column[1:])
			for _, step := range plan.Steps {
				if step.Mark == column[:1] {
					html.put("<li><bdi>%s</bdi></li>", step.String())
				}
			}
			html.put("</ul></section>\n")
		}
		html.put("</div>\n")
	}
}
