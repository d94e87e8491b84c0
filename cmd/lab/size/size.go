// Package size counts the Go of a tree by package, in tokens: a line that grows longer saves none.
//
//	tree, err := size.Count("/src/lethe")
//	fmt.Println(tree.Tokens, tree.Packages[0].Name)
package size

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Tree counts the product: all packages but cmd/lab and those below internal/test, which users never run.
type Tree struct {
	Packages []Package // the largest first
	Sum
}

// Package counts one directory, named by its path in the tree.
type Package struct {
	Name string
	Sum
}

// Sum counts lines and tokens, those of *_test.go apart. A string literal is one token; comments and semicolons are
// none.
type Sum struct {
	Lines, Tokens         int
	TestLines, TestTokens int
}

func (s *Sum) plus(o Sum) {
	s.Lines += o.Lines
	s.Tokens += o.Tokens
	s.TestLines += o.TestLines
	s.TestTokens += o.TestTokens
}

// Count reads every Go file of the product in the tree at root.
func Count(root string) (Tree, error) {
	sums := map[string]Sum{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir() && passedOver(name):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		source, err := os.ReadFile(path)
		dir := filepath.ToSlash(filepath.Dir(name))
		sum := sums[dir]
		sum.plus(countFile(name, source))
		sums[dir] = sum
		return err
	})
	var tree Tree
	for name, sum := range sums {
		tree.Packages = append(tree.Packages, Package{name, sum})
		tree.plus(sum)
	}
	slices.SortFunc(tree.Packages, func(a, b Package) int {
		if a.Tokens != b.Tokens {
			return b.Tokens - a.Tokens
		}
		return strings.Compare(a.Name, b.Name)
	})
	return tree, err
}

// passedOver reports whether a directory holds nothing of the product.
func passedOver(dir string) bool {
	base := filepath.Base(dir)
	hidden := strings.HasPrefix(base, ".") && base != "."
	return hidden || dir == "cmd/lab" || dir == "internal/test" || base == "testdata" || base == "node_modules"
}

func countFile(name string, source []byte) (sum Sum) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile(name, -1, len(source)), source, nil, 0)
	tokens := 0
	for {
		_, tok, _ := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok != token.SEMICOLON { // the scanner inserts most of them
			tokens++
		}
	}
	lines := strings.Count(string(source), "\n")
	if strings.HasSuffix(name, "_test.go") {
		return Sum{TestLines: lines, TestTokens: tokens}
	}
	return Sum{Lines: lines, Tokens: tokens}
}
