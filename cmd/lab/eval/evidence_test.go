package eval

import (
	"strings"
	"testing"

	"lethe/blobs"
	"lethe/internal/test/lethetest"
)

// What answers a question stands in the request, or a reader that searches as the prompt tells it to finds it, in a
// life of each shape; and the figures fall if a compaction drops what it should keep.
func TestShapes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	for _, life := range Shapes() {
		t.Run(life.Name, func(t *testing.T) {
			t.Parallel()
			e, err := Examine(t.Context(), life)
			lethetest.Must(t, err)
			t.Logf("%+v", e)
			for _, fault := range e.Faults(life) {
				t.Error(fault)
			}
		})
	}
}

// The guard falls where a compaction drops what it should keep.
func TestShapesFall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	life := Shapes()[3]
	whole, err := lived(t.Context(), lethetest.Dir(t), life, faults{})
	lethetest.Must(t, err)
	emptied, ruleless := faults{emptySummaries: true}, faults{noPins: true}
	empty, err := lived(t.Context(), lethetest.Dir(t), life, emptied)
	lethetest.Must(t, err)
	pinless, err := lived(t.Context(), lethetest.Dir(t), life, ruleless)
	lethetest.Must(t, err)
	lockers := func(b blobs.Blob) bool { return strings.Contains(string(b.Body), "my locker") }
	for name, tt := range map[string]struct {
		*stage
		faults
		want string
	}{
		"the model's summaries are empty":  {empty, emptied, "rules: 0 of 3 "},
		"rules are not pinned":             {pinless, ruleless, "rules: "},
		"the index leaves originals out":   {whole, faults{unindexed: lockers}, "after all calls: "},
		"nobody is reminded of what faded": {whole, faults{noHints: true}, "without a call: "},
	} {
		e, err := tt.quiz(t.Context(), life, tt.faults)
		lethetest.Must(t, err)
		t.Logf("%s: %+v", name, e)
		lethetest.Words(t, strings.Join(e.Faults(life), "\n"), tt.want)
	}
}
