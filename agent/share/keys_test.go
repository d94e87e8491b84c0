package share_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lethe/agent/config"
	"lethe/agent/share"
	"lethe/internal/secret"
	"lethe/internal/test/lethetest"
	"lethe/internal/test/sharetest"
)

// A bucket that takes other keys than before goes on once keys.env has them, with the texts that waited; that it refuses
// them is told once, with what to do.
func TestBucketTakesOtherKeys(t *testing.T) {
	for _, variable := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} {
		t.Setenv(variable, "")
		defer secret.Keep(variable, "")
	}
	home := t.TempDir()
	put := func(n int) {
		lethetest.Write(t, filepath.Join(home, "keys.env"),
			fmt.Sprintf("AWS_ACCESS_KEY_ID=id%d\nAWS_SECRET_ACCESS_KEY=a-secret-%d\nAWS_SESSION_TOKEN=a-token-%[1]d\n", n, n))
	}
	put(1)
	lethetest.Must(t, config.Read(home, new(config.Settings)))
	var taken atomic.Int64
	taken.Store(1)
	gateway := sharetest.Strict(t, func(id, token string) bool {
		return id == fmt.Sprint("id", taken.Load()) && token == fmt.Sprint("a-token-", taken.Load())
	})
	s := sharetest.Open(t, gateway.URL("home"), 3*time.Second)
	var told atomic.Int64
	share.Tell(s, func(error) { told.Add(1) })
	lethetest.Must(t, s.Create(t.Context(), "life", 1, []byte("one")))
	taken.Store(2)
	for range 2 {
		err := s.Create(t.Context(), "life", 2, []byte("two"))
		if !errors.Is(err, share.ErrAway) || strings.Contains(err.Error(), "a-token") {
			t.Errorf("refused: %v", err)
		}
		lethetest.Words(t, err.Error(), "the bucket refuses the keys: change them where they are", "nobody has the key id1")
	}
	lethetest.Equal(t, "told", told.Load(), 1)
	put(2)
	lethetest.Must(t, s.Create(t.Context(), "life", 2, []byte("two")))
	sharetest.Newest(t, s, "life", 2)
}
