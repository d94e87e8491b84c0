package agent

import "lethe/mind"

// SettingsError says that an identity cannot run with its settings: a workspace
// that holds the home, or a context limit that is too small.
type SettingsError struct{ Err error }

func (e *SettingsError) Error() string { return e.Err.Error() }
func (e *SettingsError) Unwrap() error { return e.Err }

// Check reports whether an identity that is about to be booted can run with cfg.
// It records nothing. The error is a *SettingsError.
func Check(id Identity, cfg Config) error {
	cfg.ContextLimit = orDefault(cfg.ContextLimit, defaultLimit)
	a := &Agent{id: id, cfg: cfg, store: cfg.Store, state: mind.New(), fresh: true, files: ownFiles{dir: id.Dir}}
	if err := a.makeTools(); err != nil {
		return &SettingsError{err}
	}
	return a.checkLimit()
}

// checkLimit refuses a limit that is too small for the epoch that goes on, or for
// the one that opening the identity begins.
func (a *Agent) checkLimit() error {
	state := *a.state
	if a.fresh || a.wanted() != state.Stable.Params {
		soul, err := a.files.read("SOUL.md")
		if err != nil {
			return err
		}
		ref := mind.Ref{Short: "0123456789abcdef", Gist: "SUMMARISE.md"}
		state.Renew(mind.Inputs{System: mind.System(a.id.Name, a.id.Self, string(soul), ref, ref), Tools: a.tools.Schemas(), Params: a.wanted()})
	}
	next := &Agent{id: a.id, cfg: a.cfg, estimate: a.estimate, state: &state}
	if err := next.fits(); err != nil {
		return &SettingsError{err}
	}
	return nil
}
