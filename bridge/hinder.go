package bridge

// Hinder records how it went with something on this side that a transport depends
// on: its own files, its settings. An error shows in Health as the newest one, after
// what, and its beginning and its end are logged once; nil ends it. It says nothing
// of the other side: a transport that can take nothing in meanwhile does not call
// Exchanged.
func (b *Bridge) Hinder(what string, err error) { b.vital.local(what, err) }
