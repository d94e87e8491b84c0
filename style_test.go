package lethe_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"lethe/cmd/lab/size"
)

// These packages hid where control goes, and are gone: a step returns its error, sync.OnceValue makes a value once, and
// who calls foreign code recovers.
var gone = []string{"lethe/internal/must", "lethe/internal/lazy", "lethe/internal/panics"}

func TestNothingHidesControlFlow(t *testing.T) {
	for _, pkg := range everyPackage(t) {
		for _, imported := range importsOf(pkg) {
			if slices.Contains(gone, imported) {
				t.Errorf("%s imports %s", pkg.Dir, imported)
			}
		}
	}
}

// A property test that fails fails again, and not at the next change.
func TestPropertiesAreSeeded(t *testing.T) {
	drawing := 0
	for _, pkg := range everyPackage(t) {
		imports := importsOf(pkg)
		if !slices.Contains(imports, "pgregory.net/rapid") {
			continue
		}
		if drawing++; !slices.Contains(imports, "lethe/internal/test/seed") && pkg.Name != "seed" {
			t.Errorf("the tests of %s draw others each time: import lethe/internal/test/seed for its effect", pkg.Dir)
		}
	}
	if drawing < 10 {
		t.Errorf("%d packages import rapid", drawing)
	}
}

// Nobody joins errors with cmp.Or: it evaluates all its arguments, so a step would run behind one that has failed. Write
// `if err != nil { return err }` after each step.
func TestNoErrorGoesIntoOr(t *testing.T) {
	var users []*build.Package
	var imports []string
	for _, pkg := range everyPackage(t) {
		if usesOr(t, pkg) {
			users = append(users, pkg)
			imports = append(imports, importsOf(pkg)...)
		}
	}
	if len(users) < 10 {
		t.Fatalf("%d packages use cmp.Or", len(users))
	}
	slices.Sort(imports)
	house := &typed{T: t, files: token.NewFileSet(), exports: exportsOf(t, slices.Compact(imports))}
	house.others = importer.ForCompiler(house.files, "gc", house.open)
	for _, pkg := range users {
		house.pkg = house.check(pkg, "", append(pkg.GoFiles, pkg.TestGoFiles...))
		house.check(pkg, "_test", pkg.XTestGoFiles)
	}
}

// A package reads top to bottom in one sitting.
func TestSmallPackages(t *testing.T) {
	const bound = 25_000
	tree, err := size.Count(".")
	if err != nil || len(tree.Packages) < 50 {
		t.Fatal(len(tree.Packages), err)
	}
	for _, pkg := range tree.Packages {
		if pkg.Tokens > bound {
			t.Errorf("%s has %d tokens of %d: move the body of a thing that it does to a package of its own, as cmd/lethe/files is, "+
				"or write it shorter (go run ./cmd/lab vitals --only size counts)", pkg.Name, pkg.Tokens, bound)
		}
	}
}

func everyPackage(t *testing.T) (all []*build.Package) {
	t.Helper()
	for dir := range packages(t) {
		pkg, err := build.ImportDir(filepath.Join(".", dir), 0)
		if err != nil {
			t.Fatal(err)
		}
		pkg.ImportPath = filepath.ToSlash(filepath.Join("lethe", dir))
		all = append(all, pkg)
	}
	return all
}

// importsOf returns what a package and its tests import.
func importsOf(pkg *build.Package) []string {
	return slices.Concat(pkg.Imports, pkg.TestImports, pkg.XTestImports)
}

func usesOr(t *testing.T, pkg *build.Package) bool {
	t.Helper()
	for _, name := range slices.Concat(pkg.GoFiles, pkg.TestGoFiles, pkg.XTestGoFiles) {
		text, err := os.ReadFile(filepath.Join(pkg.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("cmp.Or")) {
			return true
		}
	}
	return false
}

// exportsOf returns the files with the types of some packages and of all that these import, by their import paths. They
// come from the build cache, where go vet and go build have left them.
func exportsOf(t *testing.T, imports []string) map[string]string {
	t.Helper()
	list := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export"}, imports...)...)
	var said bytes.Buffer
	list.Stderr = &said
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, &said)
	}
	exports := map[string]string{}
	for packages := json.NewDecoder(bytes.NewReader(out)); packages.More(); {
		var p struct{ ImportPath, Export string }
		if err := packages.Decode(&p); err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
	return exports
}

// typed checks the types of packages. It is the importer of what they import.
type typed struct {
	*testing.T
	files   *token.FileSet
	exports map[string]string
	others  types.Importer
	pkg     *types.Package // with its tests: the one that its external tests import
}

func (c *typed) open(path string) (io.ReadCloser, error) {
	if c.exports[path] == "" {
		return nil, errors.New("go list has no types of " + path)
	}
	return os.Open(c.exports[path])
}

func (c *typed) Import(path string) (*types.Package, error) {
	if c.pkg != nil && c.pkg.Path() == path {
		return c.pkg, nil
	}
	return c.others.Import(path)
}

// check fails for each use of cmp.Or with errors in some files of a package. External tests may mix a package with its
// tests and the same without, which is an error of types that means nothing here.
func (c *typed) check(pkg *build.Package, suffix string, names []string) *types.Package {
	c.Helper()
	var parsed []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(c.files, filepath.Join(pkg.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			c.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Instances: map[*ast.Ident]types.Instance{}}
	config := types.Config{Importer: c, Error: func(error) {}}
	checked, _ := config.Check(pkg.ImportPath+suffix, c.files, parsed, info)
	for name, used := range info.Uses {
		if used.Pkg() == nil || used.Pkg().Path() != "cmp" || used.Name() != "Or" {
			continue
		}
		values := info.Instances[name].TypeArgs
		if values.Len() != 1 {
			c.Errorf("%s: the type of what cmp.Or chooses from is unknown", c.files.Position(name.Pos()))
		} else if isError(values.At(0)) {
			c.Errorf("%s: cmp.Or with errors", c.files.Position(name.Pos()))
		}
	}
	return checked
}

func isError(t types.Type) bool {
	return types.Implements(t, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}
