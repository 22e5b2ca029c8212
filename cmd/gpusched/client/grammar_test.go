package client

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/options"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

func model(t *testing.T) *kong.Application {
	t.Helper()
	k, err := parse.New(&grammar{}, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	manual.Describe(k.Model.Node)
	return k.Model
}

var bracketed = regexp.MustCompile(`\[[a-z]+\]`)

// Every text file belongs to a command. A file that belongs to none has a wrong name.
func TestEveryTextBelongsToACommand(t *testing.T) {
	files, err := filepath.Glob("../manual/text/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	known := []string{"ids", "moments", "several", "values", "topics", "tour", "policy"}
	for _, n := range model(t).Leaves(true) {
		name := strings.TrimPrefix(strings.ReplaceAll(manual.CommandPath(n), " ", "-"), "gpusched-")
		if known = append(known, name); bracketed.MatchString(n.Detail) {
			t.Errorf("the text of %s has a part that does not exist: %s", name, n.Detail)
		}
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".txt"); !slices.Contains(known, name) {
			t.Errorf("%s belongs to no command", file)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if n := len([]rune(line)); n > 121 {
				t.Errorf("%s: %d columns: %s", file, n, line)
			}
		}
	}
}

func TestEveryCommandAndOptionIsExplained(t *testing.T) {
	for _, n := range model(t).Leaves(true) {
		path := manual.CommandPath(n)
		if !strings.HasSuffix(n.Help, ".") {
			t.Errorf("%s: its help is not a sentence: %q", path, n.Help)
		}
		if _, is := n.Target.Addr().Interface().(runner); !is {
			t.Errorf("%s cannot be run", path)
		}
		if len(n.Positional) > 0 && n.Tag.Get("usage") == "" {
			t.Errorf("%s has no usage line", path)
		}
		for _, f := range n.Flags {
			if f.Name != "help" && !strings.HasSuffix(f.Help, ".") {
				t.Errorf("%s --%s: its text in options.txt is not a sentence: %q", path, f.Name, f.Help)
			}
			if !f.IsBool() && f.PlaceHolder == "" {
				t.Errorf("%s --%s does not say what its value is", path, f.Name)
			}
		}
		for _, p := range n.Positional {
			if p.Help == "" {
				t.Errorf("%s %s has no help", path, p.Name)
			}
		}
	}
}

// For each command, grammarFor returns a part of the grammar that has only this command. For an
// unknown command it returns the whole grammar.
func TestAPartOfTheGrammarParsesTheSame(t *testing.T) {
	for _, n := range model(t).Children {
		for _, word := range append([]string{n.Name}, n.Aliases...) {
			part := grammarFor([]string{word})
			if _, whole := part.(*grammar); whole {
				t.Errorf("the whole grammar is built for %s", word)
				continue
			}
			k, err := parse.New(part, io.Discard, func(int) {})
			if err != nil {
				t.Fatal(err)
			}
			if c := k.Model.Children; len(c) != 1 || c[0].Name != n.Name {
				t.Errorf("%s builds %v, want %s", word, c, n.Name)
			}
		}
	}
	if _, whole := grammarFor([]string{"nosuch"}).(*grammar); !whole {
		t.Error("an unknown command is not searched for in the whole grammar")
	}
}

func pagesOf(t *testing.T, epoch string) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new")
	var b bytes.Buffer
	a := &cli.App{Env: cli.Env{Out: &term.Terminal{W: bufio.NewWriter(&b)}, Getenv: func(string) string { return epoch }}, Session: cli.Session{Slurm: withSlurm}}
	if err := writeManual(t.Context(), a, []string{dir}); err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(f)] = string(text)
	}
	return pages
}

// Every command has a manual page with all its options. Two runs write the same pages (invariant 6
// of package cli).
func TestTheManualIsWholeAndReproducible(t *testing.T) {
	pages, again := pagesOf(t, ""), pagesOf(t, "")
	main := pages["gpusched.1"]
	dashes := strings.NewReplacer("-", `\-`)
	for _, n := range model(t).Leaves(true) {
		path := manual.CommandPath(n)
		name := strings.ReplaceAll(path, " ", "-")
		page, ok := pages[name+".1"]
		if !ok {
			t.Errorf("%s has no page", path)
		}
		for _, f := range n.Flags {
			if !f.Hidden && !strings.Contains(page, dashes.Replace(f.Name)+`\fP`) {
				t.Errorf("the page of %s lacks --%s", path, f.Name)
			}
		}
		if !strings.Contains(main, dashes.Replace(name)+" (1)") {
			t.Errorf("gpusched(1) does not point to %s", name)
		}
	}
	for _, text := range []string{`gpusched\-policy (7)`, "gpusched (7)", parse.AboutProgram[:20], "ID is a number", "A moment is a time of day"} {
		if !strings.Contains(main, text) {
			t.Errorf("gpusched(1) lacks %q", text)
		}
	}
	for name, page := range pages {
		if page != again[name] {
			t.Errorf("%s differs from run to run", name)
		}
		if section := strings.TrimPrefix(filepath.Ext(name), "."); !strings.Contains(page, " "+section+` "" "gpusched`) {
			t.Errorf("%s has a date that nobody gave: %.200s", name, page)
		}
		for i, line := range strings.Split(page, "\n") {
			if strings.HasPrefix(line, "'") || strings.Contains(line, "\x01") || strings.Contains(line, "\x02") {
				t.Errorf("%s:%d: %q", name, i+1, line)
			}
		}
	}
	if dated := pagesOf(t, "86400")["gpusched.1"]; !strings.Contains(dated, `.TH GPUSCHED 1 "1970\-01\-02"`) {
		t.Errorf("SOURCE_DATE_EPOCH is not the date: %.200s", dated)
	}
}

func TestWithCommand(t *testing.T) {
	for in, want := range map[string]string{
		"": "status", "--json": "status --json", "-o ids": "status -o ids", "--help": "--help", "-h": "-h", "list -a": "list -a",
	} {
		if got := strings.Join(cli.WithCommand(strings.Fields(in)), " "); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// Each entry for another program's command leads to a gpusched command. The words of the entry are
// not gpusched commands themselves.
func TestHabitsLeadToCommands(t *testing.T) {
	root := model(t).Node
	for _, habit := range manual.OtherCommands.List() {
		for _, word := range habit.Words {
			if parse.ChildNamed(root, word) != nil {
				t.Errorf("%s is a command", word)
			}
		}
		node := root
		for part := range strings.FieldsSeq(habit.Ours) {
			if strings.HasPrefix(part, "-") {
				if parse.FlagNamed(node, part) == nil {
					t.Errorf("%v leads to %s, which has no %s", habit.Words, habit.Ours, part)
				}
			} else if node = parse.ChildNamed(node, part); node == nil {
				t.Errorf("%v leads to %s, which is not a command", habit.Words, habit.Ours)
				break
			}
		}
	}
}

// Options of other tools' history commands lead to options of gpusched's history. 'gpusched report'
// has flags that 'gpusched history' does not have.
func TestHabitsOfHistoryAndReport(t *testing.T) {
	history, report := parse.ChildNamed(model(t).Node, "history"), parse.ChildNamed(model(t).Node, "report")
	for _, habit := range manual.OptionsOfPast.List() {
		for _, word := range habit.Words {
			if parse.FlagNamed(history, word) != nil || parse.FlagNamed(report, word) != nil {
				t.Errorf("%s is an option", word)
			}
		}
		for part := range strings.FieldsSeq(habit.Ours) {
			if strings.HasPrefix(part, "-") && (parse.FlagNamed(history, part) == nil || parse.FlagNamed(report, part) == nil) {
				t.Errorf("%v leads to %s, which is not an option of both", habit.Words, part)
			}
		}
	}
}

// Each entry for another tool's option leads to an option of the gpusched command. The words of the
// entry are not options of that command themselves.
func TestHabitsLeadToOptions(t *testing.T) {
	for _, n := range model(t).Children {
		of := parse.AboutNode(n).Habits
		if of != "" && !slices.Contains(manual.OtherOptions, of) {
			t.Errorf("the manual does not have what other tools call the options of %s", n.Name)
		}
		// history and report share a table (see above); run and shell do not have all options of
		// submit
		if of != "" && of != manual.OptionsOfPast && (of != manual.OptionsOfNewJobs || n.Name == "submit") {
			leadToOptions(t, n, of)
		}
	}
}

func leadToOptions(t *testing.T, command *kong.Node, of manual.Habits) {
	seen := map[string]bool{}
	for _, habit := range of.List() {
		for _, word := range habit.Words {
			if parse.FlagNamed(command, word) != nil || seen[word] {
				t.Errorf("%s is an option of %s, or is listed twice", word, command.Name)
			}
			seen[word] = true
		}
		for part := range strings.FieldsSeq(habit.Ours) {
			if strings.HasPrefix(part, "-") && parse.FlagNamed(command, part) == nil {
				t.Errorf("%v leads to %s, which %s does not have", habit.Words, part, command.Name)
			}
		}
	}
}

// For each command, the manual names the required rights in the table of rights, or says that the
// command needs none.
func TestTheManualSaysWhoMayUseACommand(t *testing.T) {
	text, err := os.ReadFile("../../../packaging/man/gpuschedd.8")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\nCOMMAND OF GPUSCHED\t")
	section, _, ok := strings.Cut(section, "\nThe next table says the same for each request")
	if !ok {
		t.Fatal("gpuschedd(8) has no table of commands")
	}
	section = strings.ReplaceAll(section, `\-`, "-")
	for _, n := range model(t).Leaves(true) {
		name := strings.TrimPrefix(manual.CommandPath(n), "gpusched ")
		group, _, _ := strings.Cut(name, " ")
		inTable := regexp.MustCompile(`(?m)(^|, )` + regexp.QuoteMeta(name) + `[,\t]`).MatchString(section)
		if !inTable && !regexp.MustCompile(`(?m)^\.(BR|RB) .*\b`+group+`\b`).MatchString(section) {
			t.Errorf("WHO MAY DO WHAT in gpuschedd(8) does not have 'gpusched %s'", name)
		}
	}
}

// Each text in options.txt belongs to an option. If a command has a text of its own for an option,
// that text differs from the general text.
func TestEveryOptionTextBelongsToAnOption(t *testing.T) {
	file, err := os.ReadFile("../options/options.txt")
	if err != nil {
		t.Fatal(err)
	}
	m := model(t)
	known := map[string]bool{}
	for _, n := range append(m.Leaves(false), m.Node) {
		for _, f := range n.Flags {
			known["--"+f.Name] = true
			known[strings.TrimPrefix(manual.CommandPath(n), "gpusched ")+" --"+f.Name] = true
		}
	}
	for _, paragraph := range strings.Split(string(file), "\n\n")[1:] {
		name, _, _ := strings.Cut(strings.Split(paragraph, "\n")[0], ": ")
		commands, option, _ := strings.Cut(name, "--")
		for command := range strings.SplitSeq(strings.TrimSpace(commands), ", ") {
			if !known[strings.TrimSpace(command+" --"+option)] {
				t.Errorf("options.txt explains --%s of %q, which is not an option", option, command)
			}
			if command != "" && options.Of(command, option) == options.Of("", option) {
				t.Errorf("the text of --%s for %s in options.txt repeats the common one", option, command)
			}
		}
	}
}
