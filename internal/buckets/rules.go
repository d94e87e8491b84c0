// Package buckets finds settings of a bucket that do not go together with texts that stay, or are erased, and counts
// the requests to it.
package buckets

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/minio/minio-go/v7"
)

// Wrong tells what loses texts whose keys begin with root, and what keeps erased ones, with what to do. Not each server
// answers, and not everybody may ask: then nothing is wrong.
func Wrong(ctx context.Context, client *minio.Client, bucket, root string) (lose, keep []string) {
	forgets := false
	if set, err := client.GetBucketLifecycle(ctx, bucket); err == nil {
		for _, rule := range set.Rules {
			prefix := cmp.Or(rule.Prefix, rule.RuleFilter.Prefix, rule.RuleFilter.And.Prefix)
			isOurs := strings.HasPrefix(prefix, root) || strings.HasPrefix(root, prefix)
			isTagged := rule.RuleFilter.Tag.Key != "" || len(rule.RuleFilter.And.Tags) > 0 // and no text has a tag
			if rule.Status != minio.Enabled || !isOurs || isTagged {
				continue
			}
			forgets = forgets || !rule.NoncurrentVersionExpiration.IsDaysNull()
			if end := rule.Expiration; !end.IsDaysNull() || !end.IsDateNull() || !rule.Transition.IsNull() {
				lose = append(lose, fmt.Sprintf("the lifecycle rule %q of the bucket deletes or moves texts, and lives with "+
					"them: have it leave out what begins with %s", rule.ID, root))
			}
		}
	}
	if versions, err := client.GetBucketVersioning(ctx, bucket); err == nil && versions.Enabled() && !forgets {
		keep = append(keep, "the bucket keeps versions, so what is deleted or erased stays in it: give it a lifecycle "+
			"rule that expires noncurrent versions")
	}
	if lock, _, _, _, err := client.GetObjectLockConfig(ctx, bucket); err == nil && lock == minio.Enabled {
		keep = append(keep, "the bucket locks objects, so lethe erase cannot take out of it what is locked")
	}
	return lose, keep
}
