// Package rehearsal is the model for when there is no model: an HTTP server on
// loopback that speaks DeepSeek's chat/completions, and behind it a
// small program that follows plain phrases.
//
// The smallest use, inside a process:
//
//	s := rehearsal.New(rehearsal.Options{})
//	url, err := s.Listen("127.0.0.1:0")
//	go s.Serve(ctx) // until ctx is done
//
// and with httptest: httptest.NewServer(rehearsal.New(rehearsal.Options{})).
//
// What it guarantees:
//
//   - The same request gets the same answer. There is no clock and no randomness.
//   - Usage counts tokens as Tokens does, and none of them as cached.
//   - After the results of its calls it answers: it never goes on for ever.
//   - It keeps nothing of a request.
//
// Package internal/test/rehearsal adds a prefix cache, scripts, what a provider refuses, and what it does wrong.
//
// The model itself is not intelligent and says so.
package rehearsal
