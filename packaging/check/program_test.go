//go:build packages

package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCompletionOfTheRealProgram: the completion scripts work with the real program.
func TestCompletionOfTheRealProgram(t *testing.T) {
	programs := filepath.Join(extractDeb(t), "usr/bin")
	for _, tt := range []struct{ shell, script string }{
		{"bash", `source "$0"; COMP_WORDS=(gpusched subm); COMP_CWORD=1; _gpusched; printf '%s\n' "${COMPREPLY[@]}"`},
		{"fish", `source $argv[1]; complete -C "gpusched subm"`},
	} {
		cmd := exec.CommandContext(t.Context(), tt.shell, "-c", tt.script, completion(t, "gpusched."+tt.shell))
		cmd.Env = []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C.UTF-8"}
		var words []string
		for line := range strings.Lines(outputOf(t, cmd)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			words = append(words, word)
		}
		if !slices.Equal(words, []string{"submit"}) {
			t.Errorf("%s offers %q", tt.shell, words)
		}
	}
}

// TestEveryCommandHasAPage: the commands that people use most have manual pages.
func TestEveryCommandHasAPage(t *testing.T) {
	dir := extractDeb(t)
	pages, err := filepath.Glob(filepath.Join(dir, "usr/share/man/man1/gpusched-*.1.gz"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages %v, %v", pages, err)
	}
	for _, command := range []string{"submit", "list", "show", "why", "logs", "wait", "cancel", "gpus", "status", "config-check"} {
		if !slices.Contains(pages, filepath.Join(dir, "usr/share/man/man1/gpusched-"+command+".1.gz")) {
			t.Errorf("'gpusched %s' has no page", command)
		}
	}
}

// TestInstallWithoutAPackage: 'make install' installs the package's programs and units at the same
// paths with the same modes.
func TestInstallWithoutAPackage(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "packaging/install.sh")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "DESTDIR="+dir)
	outputOf(t, cmd)
	for line := range strings.Lines(output(t, "rpm", "-qplv", built(t, "*.rpm"))) {
		f := strings.Fields(line)
		mode, name := f[0], f[len(f)-1]
		if strings.HasPrefix(name, "/usr/share/doc/") || strings.HasPrefix(name, "/usr/share/licenses/") {
			continue
		}
		if strings.HasPrefix(mode, "l") {
			if to, err := os.Readlink(filepath.Join(dir, f[len(f)-3])); err != nil || to != name {
				t.Errorf("%s leads to %q (%v), in the rpm to %s", f[len(f)-3], to, err, name)
			}
			continue
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().String() != mode {
			t.Errorf("%s: mode %s, the rpm has %s", name, info.Mode(), mode)
		}
	}
}
