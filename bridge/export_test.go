package bridge

// What the tests from outside share with those of the inside.
var (
	ShownIn   = shownIn
	Lines     = lines
	AgentSays = agentSays
)
