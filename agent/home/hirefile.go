package home

import "lethe/mind/audience"

// Hired is the work of an identity that people have hired, hired.toml in its directory. It is hired while it is kept
// running: see Started.
type Hired struct {
	Role string   `toml:"role"`
	For  []string `toml:"for"`  // who may read its room
	With Role     `toml:"with"` // as it was when it was hired last
}

// Role is role.toml in the folder of a role. An identity of that role runs with it.
type Role struct {
	Tools []string `toml:"tools"` // names; nil: all
	Model string   `toml:"model"` // "offline": the rehearsal model
	Day   float64  `toml:"day_usd"`
	Month float64  `toml:"month_usd"`
	Wake  string   `toml:"wake" one:"lines mentions"`
}

// String tells the role and the people.
func (h Hired) String() string {
	return h.Role + " for " + audience.Readers(h.For).String()
}

const hiredFile = "hired.toml"

// SetHired writes down the work of an identity. When it returns nil, that survives power loss.
func (id Identity) SetHired(h Hired) error { return id.write(hiredFile, h) }

// Hired returns the work of an identity; nil if nobody has hired it.
func (id Identity) Hired() (*Hired, error) { return read[Hired](id, hiredFile) }
