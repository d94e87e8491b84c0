// Package rehearsal is the model for when there is no model: an HTTP server on
// loopback that speaks DeepSeek's chat/completions strictly, and behind it a
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
//   - A request that the real service would refuse is refused here, with the same
//     shape of error and the index of the message at fault.
//   - The same request gets the same answer. There is no clock and no randomness.
//   - Usage follows the published rules of the prefix cache, by whole units of
//     BlockTokens, apart for every user_id. See Tokens for how tokens are counted.
//   - After the results of its calls it answers: it never goes on for ever.
//   - Memory is bounded: requests are kept up to a number (Options.Record) and the
//     cache holds hashes, not texts.
//
// What a provider does wrong is a Step: a status, a hanging or truncated stream,
// a blank answer. Steps come from Options.Script, from a file (LoadScript) or from
// Push while the server runs.
//
// The model itself is not intelligent and says so.
package rehearsal
