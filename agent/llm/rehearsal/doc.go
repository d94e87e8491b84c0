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
//   - Usage tells as cached what earlier requests had of whole messages, by blocks of
//     64 tokens, apart for every user_id. See Tokens for how tokens are counted.
//   - After the results of its calls it answers: it never goes on for ever.
//   - Memory is bounded: the cache holds hashes, not texts.
//
// Package internal/test/rehearsal adds scripts, what a provider refuses, and what it does wrong.
//
// The model itself is not intelligent and says so.
package rehearsal
