package mcp

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"lethe/internal/sandbox"
)

// Unreadable returns the paths that the program of a server needs and may not read: a program outside of the system's
// directories, as nvm, pyenv, uv, pipx, cargo and Homebrew install them, with its interpreter.
func (s Server) Unreadable() (paths []string) {
	if len(s.Command) == 0 {
		return nil
	}
	given := slices.Concat(s.Read, s.Write)
	for i := range given {
		given[i] = expand(given[i])
	}
	program := s.Command[0]
	for range 4 { // a script of a script of a script ends somewhere
		found, err := exec.LookPath(program)
		if err != nil {
			break
		}
		real, err := filepath.EvalSymlinks(found)
		if err != nil {
			break
		}
		for _, path := range []string{found, real} {
			isGiven := slices.ContainsFunc(given, func(dir string) bool { return sandbox.Within(path, dir) })
			isOutside := filepath.IsAbs(path) && !sandbox.OfSystem(path)
			if isOutside && !isGiven {
				root := installation(path)
				given, paths = append(given, root), append(paths, root)
			}
		}
		if program = interpreter(real); program == "" {
			break
		}
	}
	return paths
}

// installation returns the directory where a program was installed with all that it needs, or at least the
// directory of programs, or the file.
func installation(program string) string {
	bin := filepath.Dir(program)
	if !slices.Contains([]string{"bin", "shims"}, filepath.Base(bin)) {
		return program
	}
	root := filepath.Dir(bin)
	user, _ := os.UserHomeDir()
	isPersonal := root == user || root == filepath.Join(user, ".local") // others keep secrets there
	for _, sign := range []string{"lib", "libexec", "Cellar", "pyvenv.cfg"} {
		if _, err := os.Stat(filepath.Join(root, sign)); err == nil && !isPersonal {
			return root
		}
	}
	return bin
}

// interpreter returns the program in the first line of a script, "" for another file.
func interpreter(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	line, _ := bufio.NewReaderSize(file, 512).ReadSlice('\n') // a longer one names no program
	words, isScript := strings.CutPrefix(string(line), "#!")
	fields := strings.Fields(words)
	if !isScript || len(fields) == 0 {
		return ""
	}
	if filepath.Base(fields[0]) != "env" {
		return fields[0]
	}
	for _, word := range fields[1:] {
		isFlag := strings.HasPrefix(word, "-") || strings.Contains(word, "=")
		if !isFlag {
			return word
		}
	}
	return ""
}
