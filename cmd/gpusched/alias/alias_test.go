package alias

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// TestTranslate: what each command line is here, or the beginning of what is said.
func TestTranslate(t *testing.T) {
	for line, want := range map[string]string{
		"sbatch -G 2 job.sh -x":     "submit --compat=slurm --gpus=2 -- ./job.sh -x",
		"sbatch -Wt5 ./job.sh":      "submit --compat=slurm --wait --time=300s -- ./job.sh",
		"sbatch --wrap=ls job.sh":   "! there is a script, and --wrap",
		"sbatch --test-only /a/b":   "submit --compat=slurm --dry-run -- /a/b",
		"srun -n1 --pty bash -l":    "run --compat=slurm --tty -- bash -l",
		"srun -- -x":                "run --compat=slurm -- -x",
		"srun -n 4 true":            "! -n: ",
		"salloc --gres=gpu:1":       "shell --compat=slurm --gpus=1",
		"scancel 7 8_[3-5] 9.batch": "cancel 7 8_3-5 9",
		"scancel -n train":          "cancel name:train",
		"scancel -s USR1 --me":      "cancel --signal=USR1 --mine --yes",
		"scancel -t PD":             "! -t: jobs are not chosen by their state",
		"squeue -u a,b":             "list --waiting=0",
		"squeue -ua -j7,8":          "list --waiting=0 --user=a 7 8",
		"squeue -o %":               "! the format ends",
		"squeue --me=x":             "! --me takes no value",
		"squeue -u":                 "! -u needs a value",
		"sacct":                     "list --waiting=0 --ended=10000 --all --mine",
		"sacct -j 7":                "list --waiting=0 --ended=10000 7",
		"sacct -S now-2days -u a":   "list --waiting=0 --ended=10000 --all --user=a",
		"sacct -S now-2fortnights":  "! \"now-2fortnights\" is not a time",
		"sacct -o JobID%0":          "! \"0\" is not the width",
		"sinfo -Nl":                 "gpus",
		"tsp":                       "list",
		"tsp -L a -D 1,2 ls -l":     "submit --name=a --after-any=1,2 -- ls -l",
		"tsp -fL a ls":              "run --name=a -- ls",
		"tsp -t 7":                  "logs -f 7",
		"tsp -c":                    "logs",
		"tsp -k":                    "cancel @",
		"tsp -k -w 7":               "! -w: one thing at a time",
		"tsp -S":                    "! -S: there are no slots",
		"gbatch --array 1-9 --max-concurrent 2 a": "! --max-concurrent is for --param",
		"gcancel 7":                      "cancel 7",
		"gqueue -s Running":              "list --state=running",
		"mgpu_srun --interactive -- a b": "run -- a b",
		"mgpu_srun --mem x a":            "! --mem: \"x\" is not a number",
		"mgpu_queue -a":                  "! mgpu_queue has no option -a here: it takes none",
		"tgpu submit --gpus 2 -- a b":    "submit --gpus=2 -- a b",
		"tgpu cancel":                    "! no job is named",
	} {
		words := strings.Fields(line)
		c, err := Translate(words[0], words[1:], "")
		got := ""
		if err != nil {
			got = "! " + err.Error()
		} else {
			got = strings.Join(c.Words, " ")
		}
		if got != want && !(strings.HasPrefix(want, "!") && strings.HasPrefix(got, want)) {
			t.Errorf("%s: %s, not %s", line, got, want)
		}
	}
}

// TestEveryOptionDoesSomething: none of a table is without a reader (invariant 2).
func TestEveryOptionDoesSomething(t *testing.T) {
	for _, tool := range tools {
		for _, o := range tool.options {
			name, _, _ := strings.Cut(o.names, " ")
			words := []string{name}
			if o.value {
				words = append(words, "1")
			}
			if tool.name == "tgpu" {
				words = append([]string{"submit"}, words...)
			}
			if _, err := Translate(tool.name, words, ""); err != nil && strings.Contains(err.Error(), "has no option") {
				t.Errorf("%s %s: %v", tool.name, name, err)
			}
		}
	}
}

// TestFields: a job as squeue and sacct write it.
func TestFields(t *testing.T) {
	now := time.Date(2026, 3, 3, 4, 5, 6, 0, time.UTC)
	j := api.Job{ID: 7, State: job.Running, User: "me", StartedAt: now.Add(-26 * time.Hour), SuspendedSeconds: 60, SuspendedAt: now.Add(-time.Hour)}
	j.MemBytes = 3<<20 + 1
	for format, want := range map[string]string{
		"%t %M": "S 1-00:59:00", "%T|%r": "SUSPENDED|None", "%m": "4M", "%.3A|%-": "!", "%5u|": "me   |", "%.1u": "m",
		"%L %l": "UNLIMITED UNLIMITED", "%S": "2026-03-02T02:05:06", "%e": "N/A",
	} {
		c, err := Translate("squeue", []string{"-h", "-o", format}, "")
		got := "!"
		if err == nil {
			got = strings.Join(c.Table([]api.Job{j}, now), "\n")
		}
		if got != want {
			t.Errorf("%s: %q, not %q", format, got, want)
		}
	}
	j.State, j.EndedAt = job.Failed, now.Add(-25*time.Hour)
	c, err := Translate("sacct", []string{"-nP", "-o", "jobid,elapsed"}, "")
	if err != nil || len(c.Table([]api.Job{j}, now)) != 0 {
		t.Errorf("a job that ended yesterday is shown (%v)", err)
	}
	if c, err = Translate("sacct", []string{"-np", "-o", "jobid,elapsed", "-S", "now-2days"}, ""); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Table([]api.Job{j}, now), "\n"); got != "7|00:59:00|" {
		t.Errorf("sacct: %q", got)
	}
}

// FuzzTranslate: whatever is typed is words, help or an error.
func FuzzTranslate(f *testing.F) {
	for _, s := range []string{"squeue -o %.18i%", "sacct -S now-9 -o a%", "tsp -fk", "sbatch -Hv x", "scancel --me=", "tgpu submit --", "srun -=x y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Fields(line)
		if len(words) == 0 {
			return
		}
		c, err := Translate(words[0], words[1:], "")
		if err == nil && len(c.Words) == 0 && c.Help == "" && len(c.Notes) == 0 {
			t.Fatalf("%q does nothing and says nothing", line)
		}
		if err == nil && c.Table != nil {
			c.Table([]api.Job{{ID: 1, State: job.Queued}, {ID: 2, State: job.Completed}}, time.Time{})
		}
	})
}
