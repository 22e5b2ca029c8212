package client

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/daemon/config"
)

// shellCalls runs a script in a shell and returns the words of each gpusched call in it. The shell
// finds no other program.
func shellCalls(t *testing.T, script string) (calls [][]string) {
	t.Helper()
	dir := t.TempDir()
	const noted = `gpusched() { printf '%s\0' "$@" >>calls; echo >>calls; echo 41; }; `
	cmd := exec.CommandContext(t.Context(), "/bin/bash", "--norc", "--noprofile", "-c", noted+script)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/nonexistent", "HOME=" + dir}
	var said bytes.Buffer
	cmd.Stderr = &said
	_ = cmd.Run() // fails, since the script's last program is not found
	if strings.Contains(said.String(), "syntax error") || strings.Contains(said.String(), "unexpected EOF") {
		t.Errorf("bash can't read it: %s\n%s", said.String(), script)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "calls"))
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\x00\n"), "\x00\n") {
		if line != "" {
			calls = append(calls, strings.Split(line, "\x00"))
		}
	}
	return calls
}

// checkParse checks that a command line parses.
func checkParse(t *testing.T, where string, args []string) {
	t.Helper()
	args, err := parse.Habitual(args)
	if err != nil {
		t.Errorf("%s: gpusched %q: %v", where, args, err)
		return
	}
	args = cli.WithCommand(args)
	parser, err := parse.New(grammarFor(args), io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Errorf("%s: gpusched %q: %v", where, args, parse.Misused(err))
	}
}

// Each command in the tour can be parsed. The lines of the tour fit a terminal of 80 columns.
func TestTourCommandsParse(t *testing.T) {
	commands := 0
	for _, topic := range manual.Tour() {
		for _, script := range manual.Typed(topic.Text) {
			for line := range strings.Lines(script) {
				if n := len(strings.TrimSuffix(line, "\n")); n > 80-7-7 { // 80 columns minus the page's margins
					t.Errorf("%s: %d columns: %s", topic.Title, n, line)
				}
			}
			for _, args := range shellCalls(t, script) {
				commands++
				checkParse(t, topic.Title, args)
			}
		}
	}
	if commands < 40 {
		t.Errorf("the tour has %d commands only", commands)
	}
}

// This pattern matches the remark after an example.
var note = regexp.MustCompile(`\s\s+(\(.*\)|#.*)$`)

// joined matches the end of an example's line that goes on in the next line.
var joined = strings.NewReplacer(" \\\n        ", " ")

// The examples in the other pages can be parsed, too. Their lines fit a terminal of 80 columns.
func TestExamplesParse(t *testing.T) {
	files, err := filepath.Glob("../manual/text/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); strings.HasPrefix(line, "    ") && n > 80 {
				t.Errorf("%s: %d columns: %s", file, n, line)
			}
		}
		for line := range strings.Lines(joined.Replace(string(text))) {
			script := note.ReplaceAllString(strings.TrimSpace(line), "")
			if filepath.Base(file) == "tour.txt" || !strings.HasPrefix(line, "    ") || !strings.Contains(script, "gpusched ") {
				continue
			}
			for _, args := range shellCalls(t, script) {
				examples++
				checkParse(t, file, args)
			}
		}
	}
	if examples < 100 {
		t.Errorf("there are %d examples only", examples)
	}
}

// typed matches a command line in a document, without options that choose the scheduler.
var typed = regexp.MustCompile("`gpusched (?:--hosts [^\\s`]+ |--on \\S+ |--user )?([a-z][^`…]* [^`…]+)`")

// The commands in the documents can be parsed.
func TestCommandsOfTheDocumentsParse(t *testing.T) {
	commands := 0
	for _, file := range []string{"README.md", "contrib/COMING-FROM.md", "contrib/SCALE.md", "contrib/examples/README.md"} {
		text, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range typed.FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(m[1], "help ") {
				continue
			}
			for _, args := range shellCalls(t, "gpusched "+m[1]) {
				commands++
				checkParse(t, file, args)
			}
		}
	}
	if commands < 40 {
		t.Errorf("there are %d commands only", commands)
	}
}

func TestHelpTopics(t *testing.T) {
	for words, want := range map[string]string{
		"notebook": "NOTEBOOKS (JUPYTER)", "jupyter": "NOTEBOOKS (JUPYTER)", "sweep": "SWEEPS", "limits": "LIMITS", "time limits": "TIME LIMITS AND RETRIES",
		"tmux": "SHELLS AND TMUX", "torchrun": "SEVERAL TORCHRUNS", "wandb": "WANDB", "docker": "", "arrays": "ARRAYS", "quotas": "QUOTAS",
		"the order": "THE ORDER", "night": "A JOB FOR THE NIGHT", "preemption": "PREEMPTION", "gpu": "FRACTIONS OF A GPU, GPU MEMORY AND IDLE GPUS",
		"hosts": "SEVERAL MACHINES (--hosts)", "--hosts": "SEVERAL MACHINES (--hosts)", "host": "SEVERAL MACHINES (--hosts)", "slurm": "ON SLURM",
	} {
		var titles []string
		for _, topic := range manual.About(strings.Fields(words)) {
			titles = append(titles, topic.Title)
		}
		if got := strings.Join(titles, ", "); got != want {
			t.Errorf("%q finds %q, want %q", words, got, want)
		}
	}
}

// reference matches a reference to a section of a manual page.
var reference = regexp.MustCompile(`([A-Z][A-Z', ]+[A-Z]) in (gpusched\S*?|gpuschedd)(?: ?)\((\d)\)`)

// A page has each heading of options once, and a section to which a page refers exists.
func TestPagesAreWhole(t *testing.T) {
	pages := manual.Source{Grammar: model(t), OnSlurm: onSlurm(&cli.App{}), Besides: func(n *kong.Node) func() manual.Section { return parse.AboutNode(n).Section }}.Pages()
	pages["the settings"] = strings.ReplaceAll(config.Sample(), "\n#", "\n")
	for _, name := range []string{"gpusched-admin.7", "gpuschedd.8"} {
		text, err := os.ReadFile("../../../packaging/man/" + name)
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(text)
	}
	plain := strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\fB`, "", `\fP`, "", "\n.BR ", "\n", "\n.B ", "\n")
	for name, text := range pages {
		pages[name] = plain.Replace(text)
		for heading := range strings.Lines(text) {
			if strings.HasPrefix(heading, ".SS ") && strings.Count(text, heading) > 1 {
				t.Errorf("%s has %q more than once", name, heading)
			}
		}
	}
	references := 0
	for name, text := range pages {
		for _, m := range reference.FindAllStringSubmatch(strings.Join(strings.Fields(text), " "), -1) {
			references++
			if page := m[2] + "." + m[3]; !strings.Contains(pages[page], "\n.SH "+m[1]) && !strings.Contains(pages[page], "\n.SS "+m[1]) {
				t.Errorf("%s refers to %s in %s, which is not there", name, m[1], page)
			}
		}
	}
	if references < 20 {
		t.Errorf("there are %d references only", references)
	}
}
