package life

// Append are the events that one append has written, in their order, or what a crash has left of them.
type Append []Event

// Add takes in the next event of a log. One that does not follow the one before begins another append.
func (a *Append) Add(e Event, follows bool) {
	if !follows {
		*a = nil
	}
	*a = append(*a, e)
}

// Whole reports whether what its events begin is complete. A power loss or a full disk can keep the first lines of an
// append and take the last ones. A fade is nothing without the epoch that lacks what has faded, and what says that a
// life moved, or that something of it was erased, counts by the seal behind it. Other events make sense without those
// after them.
func (a Append) Whole() bool {
	has := map[string]bool{}
	for _, e := range a {
		has[e.Kind] = true
	}
	sealed := has["erased"] || has["moved"] || has["received"]
	return has[Sealed] || !sealed && (has[Epoch] || !has["fade"])
}
