package mind_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// order has the files of the package from top to bottom. Each uses only files behind it.
var order = strings.Fields("fold fold_turn fold_room fold_question fold_wake outbox source amend edit view fork epoch audience state " +
	"question ask section stable children turn context prompt talk alarms entry reply knowledge adopted text lists")

// nothing imports no package: what the files use of each other needs none.
type nothing struct{}

func (nothing) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

func TestFilesReadDown(t *testing.T) {
	set := token.NewFileSet()
	fileOf := func(pos token.Pos) string {
		return strings.TrimSuffix(filepath.Base(set.Position(pos).Filename), ".go")
	}
	names, err := filepath.Glob("*.go")
	lethetest.Must(t, err)
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		lethetest.Must(t, err)
		files = append(files, file)
		if !slices.Contains(order, fileOf(file.Pos())) {
			t.Errorf("%s has no place in the order", name)
		}
	}
	used := map[*ast.Ident]types.Object{}
	config := types.Config{Importer: nothing{}, Error: func(error) {}}
	own, _ := config.Check("mind", set, files, &types.Info{Uses: used}) // other packages are missing
	for user, object := range used {
		from, to := fileOf(user.Pos()), fileOf(object.Pos())
		if object.Pkg() == own && slices.Index(order, to) < slices.Index(order, from) {
			t.Errorf("%s uses %s of %s, which stands above it", from, object.Name(), to)
		}
	}
}
