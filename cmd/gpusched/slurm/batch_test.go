package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// read makes a Batch from the text of #SBATCH lines.
func read(t *testing.T, lines ...string) *Batch {
	t.Helper()
	b := &Batch{}
	for _, line := range lines {
		if err := b.Add(strings.Fields(line)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return b
}

// Each option of sbatch becomes the expected options of gpusched. The options for GPUs come last.
func TestOptions(t *testing.T) {
	for line, want := range map[string]string{
		"--job-name=train":             "--name=train",
		"-J train":                     "--name=train",
		"-Jtrain":                      "--name=train",
		"--time=10":                    "--time=600s", // 10 means minutes
		"-t 2:30":                      "--time=150s",
		"-t 2:00:00":                   "--time=7200s",
		"-t 1-12":                      "--time=129600s",
		"-t 1-0:30":                    "--time=88200s",
		"-t 0-0:0:5":                   "--time=5s",
		"--time 10 --time=UNLIMITED":   "",
		"--gres=gpu":                   "--gpus=1",
		"--gres=gpu:2":                 "--gpus=2",
		"--gres=gpu:a100":              "--gpus=1 --gpu-type=a100",
		"--gres=gpu:a100:4":            "--gpus=4 --gpu-type=a100",
		"--gres=gres:gpu:2(S:0)":       "--gpus=2",
		"-G 2":                         "--gpus=2",
		"--gpus=h100:8":                "--gpus=8 --gpu-type=h100",
		"--gpus-per-node=3 --gpus=1":   "--gpus=1",
		"--gpus-per-task=2 --ntasks=1": "--set-env=GPUSCHED_TASKS=1 --gpus=2",
		"--mem=8000":                   "--mem=8388608000B",
		"--mem=64G":                    "--mem=68719476736B",
		"--mem=64gb --mem=1K":          "--mem=1024B",
		"--mem-per-gpu=2G --gpus=2":    "--gpus=2 --mem=4294967296B",
		"--mem-per-cpu=1G -c 4":        "--cpus=4 --mem=4294967296B",
		"--cpus-per-gpu=4 -G2":         "--cpus=8 --gpus=2",
		"--cpus-per-task=8":            "--cpus=8",
		"--array=0-9%2":                "--array=0-9%2",
		"-d afterok:7_1:8,afterany:9,after:1,afternotok:2": "--after-ok=7_1 --after-ok=8 --after-any=9 --after=1 --after-fail=2",
		"--begin=now+1hour":                  "--begin=+3600s",
		"--begin=now+90":                     "--begin=+90s",
		"--begin=now+2weeks":                 "--begin=+1209600s",
		"--begin=noon":                       "--begin=12:00",
		"--begin=16:00 --begin=now":          "",
		"--begin=2027-01-20T12:34:00":        "--begin=2027-01-20T12:34:00",
		"-H":                                 "--hold",
		"-D /data":                           "--chdir=/data",
		"--container-image=nvcr.io#a/b:1":    "--image=nvcr.io/a/b:1",
		"--requeue --no-requeue":             "--no-requeue",
		"--signal=USR1":                      "--signal=USR1@60s",
		"--signal=B:USR1@120":                "--signal=main:USR1@120s",
		"--signal=R:USR1@120":                "--signal=USR1@120s",
		"--nice":                             "--priority=-100",
		"--nice=5":                           "--priority=-5",
		"--comment=x":                        "--comment=x",
		"--export=ALL":                       "--env=inherit",
		"--export=NONE":                      "--env=clean",
		"--export=ALL,A=1,B":                 "--env=inherit --set-env=A=1 --set-env=B",
		"--nodes=1 -n 1 --ntasks-per-node 1": "--set-env=GPUSCHED_TASKS=1 --set-env=SLURM_NTASKS_PER_NODE=1",
		"-Hv --job":                          "error",
		"-Hv":                                "--hold",
		"--job-n x":                          "--name=x", // the beginning of a name is enough, as with getopt
		"--gpus-per x":                       "error",
		"--nodes=2":                          "error",
		"--nodes=1-4 --nodes=1-1":            "",
		"-C a100 -G2":                        "--gpus=2 --gpu-type=a100",
		"-C xeon --gres=gpu:a100:2":          "--gpus=2 --gpu-type=a100",
		"-C xeon":                            "",
		"--gres=none":                        "--gpus=0",
		"--begin=022826":                     "--begin=2026-02-28",
		"--begin=02/28/26":                   "--begin=2026-02-28",
		"--ntasks=4":                         "--set-env=GPUSCHED_TASKS=4 --cpus=4",
		"-n 4 -c 2":                          "--set-env=GPUSCHED_TASKS=4 --cpus=8",
		"-c 2 --ntasks-per-node=4 -n 1":      "--set-env=GPUSCHED_TASKS=1 --set-env=SLURM_NTASKS_PER_NODE=4 --cpus=2",
		"--tasks-per-node=4 --mem-per-cpu=1G --export=ALL": "--env=inherit --set-env=GPUSCHED_TASKS=4 --set-env=SLURM_NTASKS_PER_NODE=4 --cpus=4 --mem=4294967296B",
		"-n2 --gpus-per-task=2":                            "--set-env=GPUSCHED_TASKS=2 --set-env=SLURM_GPUS_PER_TASK=2 --cpus=2 --gpus=4",
		"--ntasks-per-gpu=2 -G2":                           "--set-env=GPUSCHED_TASKS=4 --set-env=SLURM_GPU_BIND=single:2 --cpus=4 --gpus=2",
		"-n 4 --ntasks-per-gpu=2":                          "--set-env=GPUSCHED_TASKS=4 --set-env=SLURM_GPU_BIND=single:2 --cpus=4 --gpus=2",
		"-n 3 --ntasks-per-gpu=2 --mem-per-gpu=1G":         "--set-env=GPUSCHED_TASKS=3 --set-env=SLURM_GPU_BIND=single:2 --cpus=3 --gpus=2 --mem=2147483648B",
		"--gpu-bind=closest -G2":                           "--set-env=SLURM_GPU_BIND=closest --gpus=2",
		"--gpu-bind=single:0":                              "error",
		"--gpu-bind=closest:1":                             "error",
		"--gpu-bind=mask:0":                                "error",
		"--gpu-bind=map:0*9999":                            "error",
		"--gpu-bind=granularity:node":                      "error",
		"--gpus=4 --gpus-per-task=1":                       "--set-env=GPUSCHED_TASKS=4 --set-env=SLURM_GPUS_PER_TASK=1 --cpus=4 --gpus=4",
		"--gpus=4 --gpus-per-task=2 -n 1":                  "--set-env=GPUSCHED_TASKS=1 --gpus=4",
		"-n 4 --cpus-per-gpu=3 -G2":                        "--set-env=GPUSCHED_TASKS=4 --cpus=6 --gpus=2",
		"--mem-per-cpu 500 --gpus=1 --cpus-per-gpu=4":      "--cpus=4 --gpus=1 --mem=2097152000B",
		"-n 0":                   "error",
		"-n 1-4":                 "error",
		"--gres=tpu:1":           "error",
		"--gres=gpux":            "error",
		"--gpus=":                "error",
		"--gpus=a:b:1":           "error",
		"--gpus=-1":              "error",
		"--mem":                  "error",
		"--mem=8X":               "error",
		"--mem=99999999999T":     "error",
		"--time=soon":            "error",
		"--time=1:2:3:4":         "error",
		"--dependency=singleton": "--after-any=singleton",
		"--no-kill --acctg-freq=30 --ignore-pbs --spread-job --use-min-nodes": "",
		"--dependency=afterok:1?afterok:2":                                    "error",
		"--dependency=after:1+5":                                              "error",
		"--signal=USR1@soon":                                                  "error",
		"--begin=now+never":                                                   "error",
		"--begin=now+1000000weeks":                                            "error",
		"--hold=yes":                                                          "error",
		"--wrap=ls":                                                           "error",
		"--frobnicate":                                                        "error",
		"--":                                                                  "error",
		"train.py":                                                            "error",
	} {
		b := &Batch{}
		err := b.Add(strings.Fields(line))
		var words []string
		if err == nil {
			words, err = b.Words()
		}
		got := strings.Join(words, " ")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %s (%v), not %s", line, got, err, want)
		}
	}
}

// A refusal says why, and what to use instead.
func TestRefusals(t *testing.T) {
	for line, want := range map[string]string{
		"hetjob":              "hetjob begins another component, and a job here has only one: submit each component as a job",
		"-J my job":           `"job" is not an option of sbatch: a value that contains spaces stands in quotation marks`,
		"--gress=gpu:1":       "--gress is not an option of sbatch that has a counterpart here (did you mean --gres?): take it out",
		"--constraint=a|b":    `--constraint: "a|b" is not known here: the only feature is one type of GPU, such as a100`,
		"--gres=shard:2":      `--gres: "shard:2" is not known here: 'gpusched submit -g 0.5' asks for a part of a GPU`,
		"--gres=gpu:1,nvme:1": `--gres: "nvme:1" is not known here: only gpu is`,
		"-i in.txt":           "-i: a job's input is empty here: let its command read the file, as in program <in.txt",
		"--nodes=2-4":         `--nodes: "2-4" is not possible: a job here runs on one machine`,
		"--tres-per-task=x":   "--tres-per-task: is not known here: use --cpus-per-task and --gpus-per-task",
	} {
		err := (&Batch{}).Add(strings.Fields(line))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, not %s", line, err, want)
		}
	}
	b := &Batch{ForSlurm: true}
	if err := b.Add(strings.Fields("-C a100 --input=in.txt -N 1-4")); err != nil || strings.Join(b.Native(), " ") != "-Ca100 --input=in.txt -N1-4" {
		t.Errorf("for Slurm: %q %v", b.Native(), err)
	}
}

// The output file of sbatch becomes the file of --log.
func TestOutputFiles(t *testing.T) {
	for line, want := range map[string]string{
		"-o out-%j.txt":                      "--log=out-%j.txt",
		"--output=%x-%A_%a.%u --error=e.txt": "--setup --log=%n-%A_%a.%u",
		"-e err.txt --open-mode=truncate":    "--setup --set-env=SLURM_OPEN_MODE=t",
		"-e err.txt -o out.txt":              "--setup --log=out.txt",
		"-e out.txt -o out.txt":              "--log=out.txt",
		"-e e -o o --container-image=x":      "--image=x --log=o",
		"-o /dev/null":                       "--log=none",
		"-e /dev/null":                       "",
		"-e err.txt -o /dev/null":            "--setup --log=none",
		"-e e --container-image=x":           "--image=x --log=e",
		"-o out.txt --open-mode=append":      "--log=out.txt --set-env=SLURM_OPEN_MODE=a",
		"-o slurm.%N.%j-%3a.out":             "--log=slurm.n1.%j-%3a.out",
		"-o %05j-%4t.out":                    "--log=%05j-0000.out",
		"-o %4n-%n-%99t.out":                 "--log=0000-0-0000000000.out",
		"-o %9x%%.out":                       "--log=%n%%.out",
	} {
		b := &Batch{Node: "n1"}
		if err := b.Add(strings.Fields(line)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		words, err := b.Words()
		for i, w := range words { // TestErrorFile runs it
			if strings.HasPrefix(w, "--setup=") {
				words[i] = "--setup"
			}
		}
		if err != nil || strings.Join(words, " ") != want {
			t.Errorf("%s: %q (%v), not %s", line, words, err, want)
		}
	}
	for _, line := range []string{"-o %Y.txt", "-o x%", "-o %4", "--open-mode=both"} {
		if (&Batch{}).Add(strings.Fields(line)) == nil {
			t.Errorf("%s is accepted", line)
		}
	}
}

// With a file of its own, standard error is in that file and in the job's output.
func TestErrorFile(t *testing.T) {
	array := []string{"GPUSCHED_JOB_ID=9", "GPUSCHED_ARRAY_JOB=7", "GPUSCHED_ARRAY_TASK=3", "GPUSCHED_ATTEMPT=1"}
	for _, c := range []struct {
		options, file string
		environ       []string
		want          string
	}{
		{"-e new/it's-%j.err", "new/it's-9.err", []string{"GPUSCHED_JOB_ID=9"}, "old\nbad\n"},
		{"-e %x.%j.%%.%N", "a b.7_3.%.n1", append(array, "SLURM_JOB_NAME=a b"), "old\nbad\n"},
		{"-e ~/%x-%3j.err", "a_b-7_3.err", append(array, "SLURM_JOB_NAME=a/b"), "old\nbad\n"},
		{"-e %04j%2a", "0009", []string{"GPUSCHED_JOB_ID=9"}, "old\nbad\n"},
		{"-e $(x)-%A-%4a --open-mode=truncate", "$(x)-7-0003", array, "bad\n"},
		{"-e x --open-mode=truncate", "x", []string{"GPUSCHED_ATTEMPT=2"}, "old\nbad\n"},
	} {
		b := &Batch{Node: "n1"}
		if err := b.Add(append(strings.Fields(c.options), "-o", "out")); err != nil {
			t.Fatal(err)
		}
		words, err := b.Words()
		if err != nil {
			t.Fatal(err)
		}
		setup, dir := strings.TrimPrefix(words[0], "--setup="), t.TempDir()
		file := filepath.Join(dir, c.file)
		os.MkdirAll(filepath.Dir(file), 0o700)
		os.WriteFile(file, []byte("old\n"), 0o600)
		cmd := exec.Command("bash", "-c", `eval "$1"; exec perl -e 'print "good\n"; warn "bad\n"; 1 while wait() != -1'`, "bash", setup)
		cmd.Dir, cmd.Env = dir, append(c.environ, "PATH="+os.Getenv("PATH"), "HOME="+dir)
		out, err := cmd.CombinedOutput() // ends when the copy has ended, too
		text, _ := os.ReadFile(file)
		if err != nil || string(text) != c.want || !strings.Contains(string(out), "bad\n") || !strings.Contains(string(out), "good\n") {
			t.Errorf("%s: %q in the file, not %q; %q (%v)", c.options, text, c.want, out, err)
		}
	}
}

// Mail events and addresses become --notify. If gpusched does not support an event or address, a
// note says so.
func TestMail(t *testing.T) {
	for line, want := range map[string]string{
		"--mail-type=END --mail-user=a@b.org": "--notify=end --notify-to=a@b.org | 0",
		"--mail-type=begin,fail":              "--notify=start,fail | 0",
		"--mail-type=ALL":                     "--notify=start,end | 0",
		"--mail-type=END --mail-type=NONE":    " | 0",
		"--mail-user=a@b.org":                 " | 0",
		"--mail-type=END --mail-user=alice":   "--notify=end | 1",
		"--mail-type=TIME_LIMIT_80,FAIL":      "--notify=fail | 1",
		"--mail-type=ARRAY_TASKS,FAIL":        "--notify=fail | 1",
	} {
		b := read(t, line)
		words, err := b.Words()
		if got := strings.Join(words, " ") + " | " + strconv.Itoa(len(b.Notes())); err != nil || got != want {
			t.Errorf("%s: %q (%v), not %q", line, got, err, want)
		}
	}
	if (&Batch{}).Add([]string{"--mail-type=SOMETIMES"}) == nil {
		t.Error("an unknown event is accepted")
	}
}

// Every ignored option is mentioned.
func TestIgnoredAreNamed(t *testing.T) {
	b := read(t, "-p gpu --account=lab --qos high", "--output=x-%j.out", "--exclusive", "--mem=0")
	if got := strings.Join(b.Ignored(), " "); got != "-p --account --qos" {
		t.Errorf("ignored: %s", got)
	}
	if len(b.Notes()) != 2 || !b.NoGPU() {
		t.Errorf("notes: %q, without GPU: %v", b.Notes(), b.NoGPU())
	}
	if read(t, "--gpus=0").NoGPU() {
		t.Error("--gpus=0 says that there are none")
	}
	if read(t, "-n 4 --ntasks-per-gpu=2").NoGPU() {
		t.Error("tasks that share GPUs ask for these")
	}
}

// If a job is for a Slurm, the options that mean nothing here are kept.
func TestKeptForSlurm(t *testing.T) {
	b := &Batch{ForSlurm: true}
	for _, line := range []string{
		"-p gpu --account=lab --qos=", "--nodes=2 -n 4 --exclusive", "--constraint=a|b", "--priority=7", "--mem=0", "--gres=tpu:1", "-N 1",
		"--dependency=singleton", "-d afterok:1_3", "--gpus-per-task=2 -d afterok:7 -t 5", "-c 3 --mem-per-cpu=1G",
	} {
		if err := b.Add(strings.Fields(line)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	const native = "-pgpu --account=lab --nodes=2 -n4 --exclusive --constraint=a|b --priority=7 --mem=0 --gres=tpu:1 --dependency=singleton --dependency=afterok:1_3 " +
		"--gpus-per-task=2 --mem-per-cpu=1048576K"
	if got := strings.Join(b.Native(), " "); got != native || len(b.Ignored()) > 0 {
		t.Errorf("%s; ignored: %q", got, b.Ignored())
	}
	if words, err := b.Words(); err != nil || strings.Join(words, " ") != "--after-ok=7 --time=300s --cpus=3 --gpus=8" {
		t.Errorf("%q %v", words, err)
	}
	b = &Batch{ForSlurm: true}
	if err := b.Add(strings.Fields("--gpus=4 --gpus-per-task=1")); err != nil || strings.Join(b.Native(), " ") != "--ntasks=4 --gpus-per-task=1" {
		t.Errorf("%q %v", b.Native(), err)
	}
	b = &Batch{ForSlurm: true}
	if err := b.Add(strings.Fields("-n 4 --ntasks-per-gpu=2")); err != nil || strings.Join(b.Native(), " ") != "-n4 --ntasks-per-gpu=2" || !b.NoGPU() {
		t.Errorf("%q %v", b.Native(), err)
	}
	b = &Batch{ForSlurm: true}
	err := b.Add(strings.Fields("-G 4 --cpus-per-gpu=2 --mem-per-gpu=3G"))
	words, _ := b.Words()
	if got := strings.Join(append(words, b.Native()...), " "); err != nil || got != "--gpus=4 --mem-per-gpu=3145728K --cpus-per-gpu=2" {
		t.Errorf("%s %v", got, err)
	}
	b = &Batch{ForSlurm: true}
	if err := b.Add([]string{"--container-image=a#b"}); err != nil || strings.Join(b.Native(), " ") != "--container-image=a#b" {
		t.Errorf("%q %v", b.Native(), err)
	}
	if new(Batch).Add([]string{"--container-image=a.sqsh"}) == nil {
		t.Error("an image for enroot is accepted")
	}
	for _, line := range []string{"--wrap=ls", "--wait", "--frobnicate", "--uid=0"} {
		if (&Batch{ForSlurm: true}).Add([]string{line}) == nil {
			t.Errorf("%s is accepted", line)
		}
	}
}

// FuzzOptions checks that any script gives options or an error, and that times are in bounds.
func FuzzOptions(f *testing.F) {
	for _, s := range []string{"--gres=gpu:2 -t 10", "-d afterok:1:2 --signal=B:USR1@9", "--mem-per-gpu 4G -G a100:2", "-Hv", "--=", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		b := &Batch{}
		if b.Add(strings.Fields(line)) != nil {
			return
		}
		words, err := b.Words()
		for _, w := range words {
			if !strings.HasPrefix(w, "--") {
				t.Fatalf("%q gives %q (%v)", line, words, err)
			}
		}
		if d, err := Minutes(line); err == nil && (d <= 0 || d > 200*365*24*time.Hour) {
			t.Fatalf("%q is %v", line, d)
		}
	})
}
