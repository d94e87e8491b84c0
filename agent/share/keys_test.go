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

// Doctor tells of rules of a bucket that lose lives, and of what keeps erased texts.
func TestBucketSettings(t *testing.T) {
	sharetest.Keys()
	t.Setenv("AWS_SESSION_TOKEN", "")
	gateway := sharetest.Strict(t, func(string, string) bool { return true })
	rules := func(all ...string) string {
		return "<LifecycleConfiguration>" + strings.Join(all, "") + "</LifecycleConfiguration>"
	}
	rule := func(filter, does string) string {
		return "<Rule><ID>night</ID><Status>Enabled</Status>" + filter + does + "</Rule>"
	}
	const (
		mine     = "<Filter><Prefix>home/</Prefix></Filter>"
		deletes  = "<Expiration><Days>30</Days></Expiration>"
		moves    = "<Transition><Days>30</Days><StorageClass>GLACIER</StorageClass></Transition>"
		old      = "<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>"
		versions = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
		lock     = "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>"
		loses    = `trouble the lifecycle rule "night" of the bucket deletes or moves texts`
		keeps    = "warning the bucket keeps versions"
		locks    = "warning the bucket locks objects"
	)
	for _, c := range []struct {
		settings map[string]string
		want     []string
	}{
		{nil, nil},
		{map[string]string{"lifecycle": rules(rule(mine, deletes))}, []string{loses}},
		{map[string]string{"lifecycle": rules(rule("<Filter></Filter>", moves))}, []string{loses}},
		{map[string]string{"lifecycle": rules(rule("<Filter><And><Prefix>ho</Prefix></And></Filter>", deletes))}, []string{loses}},
		{map[string]string{"lifecycle": rules(rule("<Prefix>home/lives</Prefix>", deletes))}, []string{loses}},
		{map[string]string{"lifecycle": rules(rule("<Filter><Prefix>other/</Prefix></Filter>", deletes))}, nil},
		{map[string]string{"lifecycle": rules(rule("<Filter><Tag><Key>temporary</Key><Value>1</Value></Tag></Filter>", deletes))}, nil},
		{map[string]string{"lifecycle": rules(rule("<Filter><And><Prefix>home/</Prefix><Tag><Key>a</Key><Value>b</Value></Tag>"+
			"<Tag><Key>c</Key><Value>d</Value></Tag></And></Filter>", deletes))}, nil},
		{map[string]string{"lifecycle": strings.Replace(rules(rule(mine, deletes)), "Enabled", "Disabled", 1)}, nil},
		{map[string]string{"versioning": versions}, []string{keeps}},
		{map[string]string{"versioning": versions, "lifecycle": rules(rule(mine, old))}, nil},
		{map[string]string{"object-lock": lock, "versioning": versions}, []string{keeps, locks}},
	} {
		gateway.Settings = c.settings
		var got []string
		for _, found := range share.Probe(t.Context(), gateway.URL("home"))[1:] {
			got = append(got, found.State+" "+found.Text)
		}
		if len(got) != len(c.want) {
			t.Errorf("%v: %q, want %q", c.settings, got, c.want)
			continue
		}
		for k := range got {
			lethetest.Words(t, got[k], c.want[k])
		}
	}
}
