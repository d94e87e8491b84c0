package main

func (p *program) budgetCommand(c call) error {
	all, err := p.look.Budgets()
	if err == nil && len(c.args) > 0 {
		id, err := p.find(c.arg(0))
		b := all.Of(id.Self)
		return p.words("budget", b, err, all.Day)
	}
	return p.words("budgets", all, err, all.Day)
}
