package eval

import "strings"

// smallTalk lists what people say in rooms that has nothing to do with any
// conversation of the data set.
func smallTalk() []string { return strings.Split(strings.TrimSpace(smallTalkLines), "\n") }

const smallTalkLines = `
ok thanks
good morning
hi everyone, how are you?
sounds great, see you later
lol
yes please
no worries, take your time
I'll be back in ten minutes
can you hear me?
thanks a lot, that was very helpful
what do you think?
great job everyone
sorry I'm late
let me know when you are done
the build is red, can you look?
please run the tests again
go test ./... fails with a deadlock in TestReload
fix the nil pointer in server.go
error: cannot find module providing package github.com/foo/bar
git push origin main was rejected
why does the parser return an empty list here?
add a flag --verbose to the command
what does the function parseConfig return?
the deploy to staging failed with a timeout
update the changelog and bump the version
how do I open a socket in Go?
what is 12*7?
convert 5 miles to kilometers
what's the capital of Australia?
who wrote Hamlet?
translate "cheese" into French
write a haiku about the sea
remind me tomorrow to call the bank
is it going to rain today?
what time is it in Tokyo?
summarise this article for me
list the files in the workspace
show me the log of the last run
restart the server please
the disk is full again
merge the branch and delete it
who broke the pipeline?
can you explain how a hash map works?
we need to rotate the API keys
the invoice from March is still unpaid
please book a table for two at eight
my flight was delayed by two hours
the printer on the second floor is jammed
did you read the email from accounting?
I think we should use Postgres instead of SQLite
how was your weekend?
happy birthday!
have a nice day
I'm fine, thank you
good night, talk to you soon
that's awesome!
congratulations!
wow, that looks amazing
what's new with you?
nothing much, just working
`
