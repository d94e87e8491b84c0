package llm

// Names for tests from outside.
var (
	ModelsTable = modelsTable
	Table       = table
)
