package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/daemon/job"
)

// onMachine has the commands whose examples are not run here. These examples need something that
// this test does not have (GPUs, systemd, a job's own terminal, another program), or they do not
// end by themselves. The test suite for whole machines runs such commands.
var onMachine = map[string]bool{"attach": true, "doctor": true, "exec": true, "jupyter": true, "mcp": true, "proxy": true, "shell": true, "top": true, "watch": true}

// An example that contains one of these texts is not run. It needs another program or machine, or
// it runs until it is interrupted.
var elsewhere = []string{"--tty", "events -f", `logs -f "$id"`, "slurm", "ssh ", "systemctl enable", "screen -r", "journalctl "}

// TestExamplesRun runs the examples of each command's page in a shell. The server knows the jobs
// that the examples name. Each example must end with status 0, and each page must have at least
// three examples.
func TestExamplesRun(t *testing.T) {
	parser, err := parse.New(&grammar{}, nil, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	dir, texts := t.TempDir(), map[string]string{}
	for _, n := range parser.Model.Leaves(true) {
		page := strings.ReplaceAll(strings.TrimPrefix(manual.CommandPath(n), "gpusched "), " ", "-")
		examples := examplesOf(t, n)
		if len(examples) < 3 {
			t.Errorf("the page of %s has %d examples", page, len(examples))
		}
		for i, line := range examples {
			if !onMachine[page] && !slices.ContainsFunc(elsewhere, func(s string) bool { return strings.Contains(line, s) }) {
				texts[fmt.Sprintf("%s.%d.txt", page, i+1)] = "exec bash -e example\n-- example --\n" + line + "\n"
			}
		}
	}
	if len(texts) < 120 {
		t.Errorf("only %d examples are typed", len(texts))
	}
	var files []string
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	slices.Sort(files)
	testscript.Run(t, testscript.Params{Files: files, Setup: setUpExample})
}

// examplesOf returns the lines below "Examples:" on a command's page.
func examplesOf(t *testing.T, n *kong.Node) (lines []string) {
	manual.Describe(n)
	_, after, _ := strings.Cut(n.Detail, "Examples:\n\n")
	for line := range strings.Lines(joined.Replace(after)) {
		script, ok := strings.CutPrefix(line, "    ")
		if !ok {
			break
		}
		lines = append(lines, note.ReplaceAllString(strings.TrimSpace(script), ""))
	}
	return lines
}

// stateFor maps a command to the state that the user's jobs have in its examples. For other
// commands the jobs are queued.
var stateFor = map[string]string{
	"suspend": "running", "resume": "running", "park": "running", "unpark": "running", "requeue": "running", "logs": "completed", "wait": "completed", "resubmit": "failed", "history": "failed",
}

// setUpExample makes the files and programs that examples name. It starts a server with the jobs 7,
// 12 to 20 and 42.
func setUpExample(env *testscript.Env) error {
	page, _, _ := strings.Cut(filepath.Base(env.WorkDir), ".")
	page = strings.TrimPrefix(page, "script-")
	for name, text := range exampleFiles {
		path := filepath.Join(env.WorkDir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			return err
		}
	}
	state := stateFor[page]
	if state == "" {
		state = "queued"
	}
	backend, err := exampleBackend(state, page)
	if err == nil {
		err = os.WriteFile(filepath.Join(env.WorkDir, "backend.json"), backend, 0o644)
	}
	if err == nil {
		err = startDaemon(env)
	}
	if err != nil {
		return err
	}
	programs, _, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
	links := filepath.Join(env.WorkDir, "home/.local/bin")
	err = errors.Join(os.MkdirAll(links, 0o755), os.Symlink(filepath.Join(programs, "gpusched"), filepath.Join(links, "sbatch")))
	env.Setenv("TEST_NOW", "")
	env.Setenv("PATH", filepath.Join(env.WorkDir, "bin")+":"+env.Getenv("PATH"))
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "home/.local/state"))
	return err
}

// exampleFiles are the programs and files that the examples name.
var exampleFiles = map[string]string{
	"bin/jq": "#!/bin/sh\ncat >/dev/null\n", "bin/python": "#!/bin/sh\n", "bin/make": "#!/bin/sh\n", "bin/sudo": "#!/bin/sh\n",
	"bin/apptainer": "#!/bin/sh\n", "env.sif": "",
	"bin/torchrun": "#!/bin/sh\n", "bin/journalctl": "#!/bin/sh\n", "selftest": "#!/bin/sh\n", "collect-results.sh": "#!/bin/sh\n",
	"run.sh": "#!/bin/sh\n", "train.sh": "#!/bin/sh\n", "fold.sh": "#!/bin/sh\n", "preprocess.sh": "#!/bin/sh\n",
	"evaluate.sh": "#!/bin/sh\n", "long-run.sh": "#!/bin/sh\n", "job.sh": "#!/bin/sh\n#GPUSCHED -g 1\ntrue\n",
	"train.py": "", "eval.py": "", "serve.py": "", "secrets.sh": "", "commands.txt": "python train.py\n", "jobs.txt": "0,train.py,,--llm small,\n",
	"experiments.txt": "-g 4 -t 12h -- python train.py\n", "llm_config.json": `{"models": {"small": 0.5}}`,
	"config.yaml": "gpu_ids: [0, 1]\n", "gpusched.toml": "[gpus]\nsample_interval = \"5s\"\n",
	".venv/pyvenv.cfg": "", ".venv/bin/python": "#!/bin/sh\n", ".venv/bin/activate": "",
	"home/miniconda3/bin/conda": "#!/bin/sh\n", "home/miniconda3/conda-meta/history": "",
	"home/miniconda3/envs/torch/conda-meta/history": "", "home/miniconda3/envs/torch/bin/python": "#!/bin/sh\n",
	"my-model/config.json": modelConfig, "my-model/model.safetensors.index.json": modelIndex,
	"home/.cache/huggingface/hub/models--Qwen--Qwen2.5-7B-Instruct/snapshots/1/config.json":                  modelConfig,
	"home/.cache/huggingface/hub/models--Qwen--Qwen2.5-7B-Instruct/snapshots/1/model.safetensors.index.json": modelIndex,
}

const (
	modelConfig = `{"num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4, "torch_dtype": "bfloat16"}`
	modelIndex  = `{"metadata": {"total_size": 15231233024}, "weight_map": {"w": "model-1.safetensors"}}`
)

// exampleBackend returns the file that startDaemon reads. It contains what the scripts' server
// knows, and the jobs that the examples name. These jobs belong to the user and are in the given
// state.
func exampleBackend(state, page string) ([]byte, error) {
	text, err := os.ReadFile("testdata/backend.json")
	if err != nil {
		return nil, err
	}
	var backend map[string]any
	if err := json.Unmarshal(text, &backend); err != nil {
		return nil, err
	}
	view := backend["View"].(map[string]any)
	mine := func(id int, name string, more map[string]any) any {
		j := map[string]any{
			"id": id, "owner": map[string]any{"uid": -1, "user": "me"}, "label": map[string]any{"name": name}, "state": state,
			"request": map[string]any{"gpu_milli": 1000, "priority": "normal", "grace_seconds": 30}, "submitted_at": "2026-03-01T10:00:00Z", "changed_at": "2026-03-01T10:00:01Z",
		}
		if state != "queued" {
			j["attempt"] = map[string]any{"number": 1, "gpus": []any{map[string]any{"uuid": "GPU-cccc", "index": 2, "minor": 2}},
				"boot_id": "b", "invocation_id": fmt.Sprintf("%032d", id), "placed_at": "2026-03-01T10:00:00Z", "started_at": "2026-03-01T10:00:01Z"}
		}
		if job.State(state).Terminal() {
			j["result"] = map[string]any{"outcome": state}
		}
		switch page {
		case "release":
			j["held"] = "me"
		case "resume":
			j["suspended_by"], j["suspended_at"] = "me", "2026-03-01T11:00:00Z"
		case "unpark":
			j["suspended_at"], j["park"] = "2026-03-01T11:00:00Z", "parked"
		}
		maps.Copy(j, more)
		return j
	}
	array := map[string]any{"gpu_milli": 1000, "priority": "normal", "array": map[string]any{"ranges": []any{map[string]any{"first": 0, "last": 199, "step": 1}}}}
	jobs := []any{mine(7, "fold", map[string]any{"request": array, "tasks": map[string]any{"next": 13, "live": 0, "failed": 1}})}
	for i := range 13 {
		jobs = append(jobs, mine(100+i, "fold", map[string]any{"task": map[string]any{"array": 7, "index": i}}))
	}
	for id := 9; id <= 20; id++ {
		jobs = append(jobs, mine(id, "sweep", nil))
	}
	backend["Payloads"].(map[string]any)["7"] = backend["Payloads"].(map[string]any)["42"]
	backend["Checks"] = []any{map[string]any{"Name": "gpus", "Health": "HEALTHY", "Detail": "4 GPUs"}}
	view["Reservations"] = []any{reserved(1), reserved(2)}
	backend["EndAs"] = map[string]any{"outcome": "completed"} // how the jobs end that the examples submit
	view["Jobs"] = append(jobs, mine(42, "train", nil), mine(43, "train", nil))
	return json.Marshal(backend)
}

func reserved(id int) any {
	return map[string]any{"id": id, "gpus": []any{map[string]any{"uuid": "GPU-dddd", "index": 3, "minor": 3}},
		"from": "2035-03-01T22:00:00Z", "to": "2035-03-02T00:00:00Z"}
}
