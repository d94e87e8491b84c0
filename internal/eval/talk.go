package eval

import (
	_ "embed"
	"strings"
)

// smallTalk lists what people say in rooms that has nothing to do with any
// conversation of the data set.
func smallTalk() []string { return strings.Split(strings.TrimSpace(smallTalkLines), "\n") }

//go:embed talk.txt
var smallTalkLines string
