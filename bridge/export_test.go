package bridge

// What the tests from outside share with those of the inside.
var (
	Lines     = lines
	AgentSays = agentSays
)
