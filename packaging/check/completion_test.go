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

// fakeProgram replaces gpusched. It records its
// arguments, one per line, and offers fixed candidates.
const fakeProgram = `#!/bin/sh
[ "$1" = __complete ] || exit 9
shift
for word; do printf '<%s>\n' "$word"; done >"$ASKED"
for last; do :; done
case "$*" in "submit -- "*) printf '\tcommand 2\n'; exit ;; esac
case "$last" in
su*) printf 'submit\tqueue a command\n' ;;
--gpus=*) printf -- '--gpus=1\n--gpus=2\n' ;;
name:*) printf 'name:train\tjob 12\nname:test\tjob 13\n' ;;
esac
`

type completer struct {
	dir   string // directory that contains the only gpusched in PATH, and a few files
	asked string
}

func newCompleter(t *testing.T) completer {
	t.Helper()
	c := completer{dir: t.TempDir()}
	c.asked = filepath.Join(c.dir, "asked")
	if err := os.WriteFile(filepath.Join(c.dir, "gpusched"), []byte(fakeProgram), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "data.csv"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return c
}

// run runs a script in a shell. It returns the sorted lines that the script printed, and the words
// with which the script asked fakeProgram for candidates.
func (c completer) run(t *testing.T, shell string, args ...string) (lines []string, asked string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), shell, args...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + c.dir + ":" + os.Getenv("PATH"), "ASKED=" + c.asked, "HOME=" + c.dir, "TERM=dumb", "LC_ALL=C.UTF-8"}
	for line := range strings.Lines(outputOf(t, cmd)) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	slices.Sort(lines)
	data, err := os.ReadFile(c.asked)
	if err != nil {
		t.Fatal(err)
	}
	return lines, string(data)
}

func completion(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "packaging/completions", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBashCompletion(t *testing.T) {
	file := completion(t, "gpusched.bash")
	output(t, "bash", "-n", file)
	for _, tt := range []struct {
		name, words string // the words are split as readline splits them
		want        []string
		asked       string
	}{
		{"a command", `gpusched su`, []string{"submit"}, "<su>\n"},
		{"the next word", `gpusched show ''`, nil, "<show>\n<>\n"},
		{"a value behind =", `gpusched submit --gpus = ''`, []string{"1", "2"}, "<submit>\n<--gpus=>\n"},
		{"a value begun behind =", `gpusched submit --gpus = 2`, []string{"2"}, "<submit>\n<--gpus=2>\n"},
		{"a name behind :", `gpusched show name : tr`, []string{"train"}, "<show>\n<name:tr>\n"},
		{"names with what they are", `gpusched show name :`, []string{"test   (job 13)", "train  (job 12)"}, "<show>\n<name:>\n"},
		{"a job's program", `gpusched submit -- gpusche`, []string{"gpusched"}, "<submit>\n<-->\n<gpusche>\n"},
		{"a file for a job's program", `gpusched submit -- gpusched --x = dat`, nil, "<submit>\n<-->\n<gpusched>\n<--x=dat>\n"},
	} {
		script := `source "$1"; COMP_WORDS=(` + tt.words + `); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _gpusched; ((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}"; true`
		lines, asked := newCompleter(t).run(t, "bash", "--norc", "--noprofile", "-c", script, "bash", file)
		if !slices.Equal(lines, tt.want) || asked != tt.asked {
			t.Errorf("%s: got %q for %q, want %q for %q", tt.name, lines, asked, tt.want, tt.asked)
		}
	}
}

func TestFishCompletion(t *testing.T) {
	file := completion(t, "gpusched.fish")
	output(t, "fish", "-n", file)
	for _, tt := range []struct {
		name, line string
		want       []string
		asked      string
	}{
		{"a command", "gpusched su", []string{"submit\tqueue a command"}, "<su>\n"},
		{"a name", "gpusched show name:", []string{"name:test\tjob 13", "name:train\tjob 12"}, "<show>\n<name:>\n"},
		{"a file where there is no candidate", "gpusched show dat", []string{"data.csv"}, "<show>\n<dat>\n"},
		{"what a job's program takes", "gpusched submit -- gpusched su", []string{"submit\tqueue a command"}, "<su>\n"},
	} {
		lines, asked := newCompleter(t).run(t, "fish", "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, file, tt.line)
		if !slices.Equal(lines, tt.want) || asked != tt.asked {
			t.Errorf("%s: got %q for %q, want %q for %q", tt.name, lines, asked, tt.want, tt.asked)
		}
	}
}

// zshScript types a line and a tab into a real zsh and prints the candidates. It intercepts them
// where the completion system adds them.
const zshScript = `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1= PS2= RPS1=; unsetopt zle_bracketed_paste 2>/dev/null; fpath=('${(q)1:h}' $fpath); autoload -Uz compinit; compinit -D -u; stty -echo'
zpty -w z 'compadd() { local -a o; builtin compadd -O o "$@"; (( $#o )) && print -rl -- $o >>'${(q)3}'; builtin compadd "$@" }; bindkey "^I" complete-word; setopt no_beep; print READY-$((40+2))'
zpty -r -m z out '*READY-42*'
zpty -w -n z "$2"$'\t'
zpty -w -n z $'\C-a\C-k print DONE-$((40+2))\n'
zpty -r -m z out '*DONE-42*'
zpty -d z
sort -u $3 2>/dev/null
true
`

func TestZshCompletion(t *testing.T) {
	file := completion(t, "_gpusched")
	output(t, "zsh", "-n", file)
	for _, tt := range []struct {
		name, line string
		want       []string
		asked      string
	}{
		{"a command", "gpusched su", []string{"submit"}, "<su>\n"},
		{"names with colons", "gpusched show name:", []string{"name:test", "name:train"}, "<show>\n<name:>\n"},
		{"a quoted word before", "gpusched submit 'a b' su", []string{"submit"}, "<submit>\n<a b>\n<su>\n"},
		{"a file where there is no candidate", "gpusched show dat", []string{"data.csv"}, "<show>\n<dat>\n"},
		{"a job's program", "gpusched submit -- gpusche", []string{"gpusched"}, "<submit>\n<-->\n<gpusche>\n"},
		{"what a job's program takes", "gpusched submit -- gpusched su", []string{"submit"}, "<su>\n"},
	} {
		c := newCompleter(t)
		lines, asked := c.run(t, "zsh", "-f", "-c", zshScript, "zsh", file, tt.line, filepath.Join(c.dir, "offered"))
		if !slices.Equal(lines, tt.want) || asked != tt.asked {
			t.Errorf("%s: got %q for %q, want %q for %q", tt.name, lines, asked, tt.want, tt.asked)
		}
	}
}
