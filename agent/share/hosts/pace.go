package hosts

import "time"

// Pace changes how often hosts say that they are there, and after how long one is silent, for tests that run processes.
func Pace(renew, silent time.Duration) { renewEvery, aloneEvery, silentFor = renew, renew, silent }
