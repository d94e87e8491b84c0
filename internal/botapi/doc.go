// Package botapi is Telegram's Bot API for tests: a strict HTTP server with a small
// world of people, chats and files behind it.
//
// The smallest use, inside a process:
//
//	s := botapi.New(botapi.Options{})
//	url, err := s.Listen("127.0.0.1:0")
//	go s.Serve(ctx) // until ctx is done
//
//	ada := s.User("Ada", "ada")
//	dm := s.Private(ada)
//	s.Say(dm, ada, "hello") // the bot at url, with s.Token(), gets an update
//	s.Sent(dm)              // what the bot has written there
//
// What it guarantees:
//
//   - A request that the real server would refuse is refused with the real
//     server's status and description. What the real server silently ignores or
//     repairs (an unknown parameter, a limit of 1000) is refused here, and noted
//     in Violations, as is everything else that a well-behaved bot never does:
//     two polls at a time, a call before retry_after has passed, an offset that
//     goes back.
//   - getUpdates is the real one: an offset confirms what is below it and nothing
//     else does, an update that was not confirmed comes again, at most a hundred
//     at a time.
//   - Nothing is idempotent: the same sendMessage twice makes two messages.
//   - Ids are dealt out in order, from the same start: the same calls make the
//     same world. Dates come from Options.Now. Message ids are counted for each
//     chat apart, so that a bot that forgets the chat in a key is found out.
//   - The token is in no recorded call and in no violation.
//
// Every way in which the service or the way to it can misbehave is a Fault: a
// status, a page of HTML, silence, a broken connection before or after the
// request took effect, a truncated or foreign answer, old updates again.
//
// What it has is what the bridge uses: requests in JSON, parse_mode HTML, no rate
// limits but those of a Fault. A method that is not here is answered with 404 and
// noted.
//
// All methods of Server are safe for concurrent use. Misuse from the side of the
// world, such as a message in a chat that does not exist, panics: it is a
// mistake in the test.
//
// Read top to bottom: server.go, wire.go and methods.go (what comes in and goes
// out), updates.go, send.go, html.go and files.go (the bot's side), world.go,
// talk.go, media.go and trouble.go (the people's side), faults.go (what goes
// wrong).
package botapi
