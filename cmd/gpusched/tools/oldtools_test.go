package tools

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobsfile"
	"github.com/gpusched/gpusched/cmd/gpusched/oldconfig"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// 'scheduler.py start' passes on what the tool itself reads or sets: its table of models, the
// settings of --config, --cuda in the arguments, and the place of its jobs' output.
func TestSchedulerStart(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("config.json", `{"files": {"jobs_file": "my.txt", "llm_config_file": "table.json", "state_file": "s"},
		"scheduler": {"job_timeout_s": 3600.0, "num_gpus": 8}, "gpu": {"memory_threshold": 0.8, "load_threshold": 0.7}}`)
	said := &term.Terminal{W: bufio.NewWriter(io.Discard)}
	a := &cli.App{Env: cli.Env{Out: said, Err: said, Getenv: func(string) string { return "" }, UID: os.Getuid()}}
	check := func(line, want string) {
		t.Helper()
		words := strings.Fields(line)
		call, err := Translate(a, words[0], words[1:])
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if got := strings.Join(call.Words, " "); got != want {
			t.Errorf("%s is\n%s, not\n%s", line, got, want)
		}
	}
	check("scheduler.py start", "watch --follow --format=columns jobs.txt -- --cuda-arg")
	check("scheduler.py start --screen", "watch --format=columns jobs.txt -- --cuda-arg --screen")
	check("scheduler_10x.py start", "watch --follow --format=columns jobs.txt")
	check("scheduler_10x.py start --config config.json --screen",
		"watch --format=columns my.txt -- --max-used=80% --max-load=70% --time=1h --screen")
	write("llm_config.json", "{}")
	check("scheduler.py start", "watch --follow --format=columns jobs.txt -- --cuda-arg --llm-config=llm_config.json")
	check("scheduler.py start --llm-config other.json", "watch --follow --format=columns jobs.txt -- --cuda-arg --llm-config=other.json")
	write("table.json", "{}")
	check("scheduler_10x.py start --config=config.json --jobs-file x.txt --mem-threshold 0.5",
		"watch --follow --format=columns x.txt -- --max-used=80% --max-load=70% --time=1h --llm-config=table.json --max-used=0.5")
	check("scheduler_10x.py metrics", "report --by gpu -w")
}

// The example files have the formats that their names say.
func TestExamples(t *testing.T) {
	for name, format := range map[string]jobsfile.Format{
		"commands.txt": jobsfile.Commands, "jobs.txt": jobsfile.Columns, "job.yaml": jobsfile.Spec, "config.yaml": "", "llm_config.json": "",
	} {
		text, err := os.ReadFile(filepath.Join("../../../contrib/examples", name))
		if err != nil {
			t.Fatal(err)
		}
		if format == "" {
			if _, err := oldconfig.Convert(name, string(text)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		list := jobsfile.Parse(format, string(text))
		if got := jobsfile.Detect(string(text)); got != format || len(list) == 0 {
			t.Errorf("%s is %s with %d jobs", name, got, len(list))
		}
		for _, e := range list {
			if e.Err != nil {
				t.Errorf("%s line %d: %v", name, e.Number, e.Err)
			}
		}
	}
}
