package client

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
)

// refusal returns the error that people see for a command line, or "" if there is none.
func refusal(t *testing.T, k *kong.Kong, args ...string) string {
	t.Helper()
	if _, err := k.Parse(args); err != nil {
		return parse.Misused(err).Error()
	}
	return ""
}

func wholeParser(t *testing.T) *kong.Kong {
	t.Helper()
	k, err := parse.New(&grammar{}, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// parsersWords matches words that only the parser uses, for its grammar, types and tokens.
var parsersWords = regexp.MustCompile(`must be one of|but got|bool value|expected |missing flags|unexpected|\bEOL\b|bit u?int|<\w+>|strconv|flag\)`)

// If an option or argument has a wrong value or none, the error is in our words, not the parser's.
func TestNoRefusalIsInTheParsersWords(t *testing.T) {
	k := wholeParser(t)
	for _, n := range k.Model.Leaves(true) {
		words := strings.Fields(strings.TrimPrefix(manual.CommandPath(n), "gpusched "))
		tries := [][]string{{}, {"--nosuchoption"}, {"a", "b", "c"}, {"\x01"}}
		for _, f := range n.Flags {
			if f.Name != "help" {
				name := "--" + f.Name
				tries = append(tries, []string{name + "=?!"}, []string{name}, []string{name, "--json"})
			}
		}
		for _, words := range [][]string{words, words[:1]} {
			for _, more := range tries {
				args := slices.Concat(words, more)
				if text := refusal(t, k, args...); parsersWords.MatchString(text) {
					t.Errorf("%q: %s", args, text)
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	k := wholeParser(t)
	for line, want := range map[string]string{
		"events -o csv":           `--output: "csv" is not known here: use table, json or jsonl (see 'gpusched events --help')`,
		"daemon log-level debugg": `LEVEL: "debugg" is not known here: use debug, info, warn, error or default (`,
		"reserve":                 `'gpusched reserve' needs to know what to do: make, list or cancel (`,
		"export":                  `'gpusched export' needs to know what to do: slurm (`,
		"history --last x":        `--last: "x" is not a number (`,
		"status --json=maybe":     `--json takes no value, and "maybe" is one (`,
		"list --user":             `--user needs a value (`,
		"submit --gpu 1 x":        `unknown flag --gpu, did you mean "--gpus"? (`,
		"submit --foo x":          `unknown flag --foo (`,
		"estimate -g 1 -- x":      `there is no option -g: 'gpusched submit --dry-run' says where and when a job would start (`,
		"cancel -9 1":             `there is no option -9: here it is --now; SIGKILL at once (`,
		"logs --json 1":           `unknown flag --json (`,
		"foo":                     `there is no command "foo" (`,
		"lsit":                    `there is no command "lsit", did you mean "list"? (`,
		"submit --gpu-i 1 x":      `unknown flag --gpu-i, did you mean "--gpu-ids"? (`,
		"daemon undrain":          `there is no command "undrain", did you mean 'gpusched daemon resume'? (`,
		"daemon unpause":          `there is no command "unpause", did you mean 'gpusched daemon resume'? (`,
		"gpu unpause 0":           `there is no command "unpause", did you mean 'gpusched gpu resume'? (`,
		"daemon status":           `there is no command "status", did you mean 'gpusched status'? (`,
		"daemon reload":           `there is no command "reload": it is systemd's, systemctl reload gpusched (`,
		"daemon drian":            `there is no command "drian", did you mean "drain"? (`,
		"reserve create --gpus 0": `there is no command "create", did you mean 'gpusched reserve make'? (`,
		"migrate --mine":          `--to ENGINE is missing (`,
		"--vers":                  `unknown flag --vers (see 'gpusched --help')`,
		"submit -p gpu true": `--priority: "gpu" is not a priority: use a number (higher goes first) or one of scavenger, low, normal, high, ` +
			`interactive; for a partition: jobs wait in one queue`,
		"why 1 2": `'gpusched why' takes one ID, and "2" is a second (`,
	} {
		if got := refusal(t, k, strings.Fields(line)...); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// Each entry for a command of two words leads to a gpusched command. The two words are no gpusched
// command themselves.
func TestHabitsLeadToSubcommands(t *testing.T) {
	root := model(t).Node
	for _, habit := range manual.OtherSubcommands.List() {
		if habit.Ours == "" { // the command belongs to systemd
			continue
		}
		for i, path := range append(slices.Clone(habit.Words), habit.Ours) {
			n := root
			for word := range strings.FieldsSeq(path) {
				if n != nil {
					n = parse.ChildNamed(n, word)
				}
			}
			if there := n != nil; there != (i == len(habit.Words)) {
				t.Errorf("%s: there is such a command: %t", path, there)
			}
		}
	}
}
