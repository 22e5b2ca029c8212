package alias

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Each command line becomes the expected words, or is refused with the expected message.
func TestTranslate(t *testing.T) {
	for line, want := range map[string]string{
		"sbatch -G 2 job.sh -x":                            "submit --compat=slurm --gpus=2 -- ./job.sh -x",
		"sbatch -Wt5 ./job.sh":                             "submit --compat=slurm --wait --time=300s -- ./job.sh",
		"sbatch --wrap=ls job.sh":                          "! there is a script and --wrap",
		"sbatch --test-only /a/b":                          "submit --compat=slurm --dry-run -- /a/b",
		"srun -n1 --pty bash -l":                           "run --compat=slurm --tty --set-env=GPUSCHED_TASKS=1 -- bash -l",
		"srun -- -x":                                       "run --compat=slurm -- -x",
		"srun -n 4 true":                                   "! -n: a new job here is one task, not 4",
		"srun --jobid 7 true":                              "exec 7 -- true",
		"srun --jobid=7_1 --overlap --pty -N1 -n1 bash -l": "exec 7_1 -- bash -l",
		"srun --jobid 7 -c 2 true":                         "! --jobid: the command runs beside job 7, on all of its GPUs: --cpus can't be set",
		"srun --jobid 7 -n 2 true":                         "! --jobid: the command runs once, not 2 times",
		"srun -n1 a : -n1 b":                               "! \":\" begins another component, and a job here has only one",
		"srun sh -c :":                                     "run --compat=slurm -- sh -c :",
		"srun --mpi=none a":                                "run --compat=slurm -- a",
		"srun --mpi=pmix a":                                "! --mpi: no MPI is started here",
		"srun --job-nam x a":                               "run --compat=slurm --name=x -- a",
		"sbatch --gress=gpu:1 x":                           "! sbatch has no option --gress here, did you mean --gres?",
		"sbatch --parsabel x":                              "! sbatch has no option --parsabel here, did you mean --parsable?",
		"squeue --usr x":                                   "! squeue has no option --usr here, did you mean --user?",
		"sbatch -C a100 x":                                 "submit --compat=slurm -- ./x",
		"squeue -O JobID:8,Bogus":                          "! there is no field \"Bogus\" here: there are account, arrayjobid",
		"squeue --json":                                    "! --json: 'gpusched list --json' prints JSON",
		"squeue -O JobID,WorkDir":                          "list --waiting=0 --output=cols=command",
		"sacct -j 7 -o WorkDir":                            "list --waiting=0 --ended=10000 7 --output=cols=command",
		"squeue -t XX":                                     "! there is no state \"XX\": there are SUSPENDED, S, PENDING, PD, RUNNING, R, CONFIGURING, CF, COMPLETING",
		"sacct -e":                                         "",
		"seff":                                             "! name one job, such as seff 7",
		"sacct -l":                                         "! -l: name the fields: sacct -o JobID",
		"sacct -S 13/45":                                   "! \"13/45\" is not a time",
		"sinfo -o %y%P":                                    "! there is no %y here: there are %P %R",
		"sinfo -O partition":                               "! -O: use -o, as in sinfo -o",
		"salloc -n 4 -c 2":                                 "shell --compat=slurm --set-env=GPUSCHED_TASKS=4 --cpus=8",
		"sbatch -n 4 --wrap=ls":                            "submit --name=wrap --compat=slurm --set-env=GPUSCHED_TASKS=4 --cpus=4 -- /bin/sh -c ls",
		"sinfo -t asleep":                                  "! -t: there is no state \"asleep\"",
		"scontrol show job 7":                              "list --ended=10000 7 --output=cols=command",
		"squeue -t all":                                    "list --waiting=0 --all --ended=10000",
		"salloc --gres=gpu:1":                              "shell --compat=slurm --gpus=1",
		"scancel 7 8_[3-5] 9.batch":                        "cancel 7 8_3-5 9",
		"scancel 7_[1,3],9":                                "cancel 7_1,3 9",
		"scancel 7_1,9.1":                                  "! \"9.1\" is a step",
		"scontrol hold 7_[1,3],9":                          "hold 7_1,3 9",
		"squeue -j 7_[1,3],,9":                             "list --waiting=0 7_1,3 9",
		"scontrol show job 7_1,9":                          "list --ended=10000 7_1 9 --output=cols=command",
		"scontrol update JobId=7_[1,3] Nice=1":             "update 7_1,3 --priority=-1",
		"scancel -n train":                                 "cancel",
		"scancel -n train -u a 7":                          "cancel 7 --user=a",
		"scancel -s USR1 --me":                             "cancel --signal=USR1 --mine --yes",
		"scancel -b -s USR1 7":                             "cancel --signal=main:USR1 7",
		"scancel -s USR1 -b 7":                             "cancel --signal=main:USR1 7",
		"scancel -b 7":                                     "cancel 7",
		"scancel -t PD":                                    "cancel",
		"scancel -t XX":                                    "! there is no state",
		"scancel 7.1":                                      "! \"7.1\" is a step",
		"scancel -q long --me":                             "! -q: no job has one here",
		"squeue -u a,b":                                    "list --waiting=0",
		"squeue -ua -j7,8":                                 "list --waiting=0 --user=a 7 8",
		"squeue -o %":                                      "! the format ends",
		"squeue --me=x":                                    "! --me takes no value",
		"squeue -u":                                        "! -u needs a value",
		"sacct":                                            "list --waiting=0 --ended=10000 --all --mine",
		"sacct -j 7":                                       "list --waiting=0 --ended=10000 7",
		"sacct -S now-2days -u a":                          "list --waiting=0 --ended=10000 --all --user=a",
		"sacct -S now-20000weeks":                          "! \"now-20000weeks\" is not a time",
		"sacct -S now-2fortnights":                         "! \"now-2fortnights\" is not a time",
		"sacct -o JobID%0":                                 "! \"0\" is not the width",
		"sinfo -Nl":                                        "",
		"sinfo -o %y":                                      "! there is no %y here",
		"scontrol hold 7_3":                                "hold 7_3",
		"scontrol hold job=7 8,9":                          "hold 7 8 9",
		"scontrol release jobname=train":                   "release name:train",
		"scontrol show job":                                "list --ended=10000 --all --waiting=0",
		"scontrol show jobs=7":                             "list --ended=10000 7 --output=cols=command",
		"scontrol version":                                 "",
		"scontrol ping":                                    "! \"ping\" is not known here: use gpusched health",
		"scontrol show node x":                             "! \"show node x\" is not known here: use sinfo -N, or gpusched gpus",
		"scontrol frob 7":                                  "! \"frob 7\" is not known here: there are show hostnames LIST",
		"scontrol update x":                                "! x can't be changed here: there are JobId, TimeLimit",
		"scontrol update JobId=7,8 TimeLimit=60 Name=a":    "update 7 8 --time=3600s --name=a",
		"scontrol update job 7 TimeLimit=UNLIMITED":        "update 7 --time=none",
		"scontrol update JobId=7 gres=gres/gpu:2":          "update 7 --gpus=2",
		"scontrol update jobid=7 ArrayTaskThrottle=3":      "update 7 --array-limit=3",
		"scontrol update jobid=7 Dependency=":              "update 7 --after=none",
		"scontrol update jobid=7 Dependency=afterok:5:6":   "update 7 --after-ok=5 --after-ok=6",
		"scontrol update jobid=7 MinMemoryNode=1G Nice=10": "update 7 --mem=1073741824B --priority=-10",
		"scontrol update jobid=7 Partition=x":              "! Partition can't be changed here: there are JobId, TimeLimit",
		"scontrol update jobid=7 TimeLimit=+5":             "! TimeLimit: --time: \"+5\" is not a time as Slurm writes it",
		"scontrol update jobid=7 StartTime=now":            "update 7 --begin=now",
		"scontrol update TimeLimit=5":                      "! no job is named",
		"sacctmgr add user x":                              "! \"add user x\" is not known here",
		"tsp":                                              "list",
		"tsp -L a -D 1,2 ls -l":                            "submit --name=a --after-any=1,2 -- ls -l",
		"tsp -fL a ls":                                     "run --name=a -- ls",
		"tsp -t 7":                                         "logs -f 7",
		"tsp -c":                                           "logs",
		"tsp -k":                                           "! say which job to cancel: tsp -k ID (tsp -l lists them)",
		"scancel --me --name=":                             "! --name: it has no value, so it matches no job",
		"tsp -k -w 7":                                      "! -w: one thing at a time",
		"tsp -S":                                           "",
		"tsp -S 0":                                         "! -S: \"0\" is not a number of slots",
		"tsp -N 2 -G 1 a":                                  "submit --gpus=1 -- a",
		"tsp -N x a":                                       "! -N: \"x\" is not a number of slots",
		"gbatch --array 1-9 --max-concurrent 2 a":          "! --max-concurrent is for --param",
		"gbatch --param lr=0:1:0.5 a {lr}":                 "submit --param=lr=0.0,0.5,1.0 --set-env=GFLOW_ARRAY_TASK_ID=0 -- a {lr}",
		"gbatch --param s=3:1 a":                           "submit --param=s=3,2,1 --set-env=GFLOW_ARRAY_TASK_ID=0 -- a",
		"gbatch --param s=1:x a":                           "! --param: \"1:x\" is not a range of numbers",
		"gbatch --param s=1:2:-1 a":                        "! --param: \"1:2:-1\" is not a range of numbers",
		"gbatch --param s=a:b,c a":                         "submit --param=s=a:b,c --set-env=GFLOW_ARRAY_TASK_ID=0 -- a",
		"gbatch a $GFLOW_ARRAY_TASK_ID":                    "submit --set-env=GFLOW_ARRAY_TASK_ID=0 -- a 0",
		"gbatch --array 1-3 /x/a x${GFLOW_ARRAY_TASK_ID}'y": "submit --array=1-3 --name=a -- /bin/sh -c " +
			`export GFLOW_ARRAY_TASK_ID="$GPUSCHED_ARRAY_TASK"; exec '/x/a' 'x'"$GFLOW_ARRAY_TASK_ID"''\''y'`,
		"gcancel 7":                      "cancel 7",
		"gqueue -s Running":              "list --state=running",
		"mgpu_srun --interactive -- a b": "run -- a b",
		"mgpu_srun --mem x a":            "! --mem: \"x\" is not a number",
		"mgpu_queue -a":                  "! mgpu_queue has no option -a here: it takes none",
		"tgpu submit --gpus 2 -- a b":    "submit --gpus=2 -- a b",
		"tgpu cancel":                    "! no job is named",
	} {
		words := strings.Fields(line)
		c, err := Translate(words[0], words[1:], "", "n1")
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

// Every option in every table has a function that reads it (invariant 2).
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
			if _, err := Translate(tool.name, words, "", "n1"); err != nil && strings.Contains(err.Error(), "has no option") {
				t.Errorf("%s %s: %v", tool.name, name, err)
			}
		}
	}
}

// A job is cancelled only if all filters match it.
func TestFiltersMustAllMatch(t *testing.T) {
	j := api.Job{ID: 7, Label: job.Label{Name: "train"}, User: "me", State: job.Queued}
	for line, want := range map[string]bool{
		"-n train 7": true, "-n other 7": false, "-n train -u bob": false, "-n a,train -u me": true, "-t PD --me": true, "-t R --me": false,
		"-p gpu -u me": true, "-p debug -u me": false, "-A lab --me": false, "-w localhost --me": false,
	} {
		c, err := Translate("scancel", strings.Fields(line), "", "n1")
		if err != nil || c.Only == nil {
			t.Errorf("%s: %v, no filter", line, err)
		} else if got := c.Only(j) && In(c.States, j); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// Every option of a tool is in its help, and each option of tsp is explained.
func TestHelp(t *testing.T) {
	for _, tool := range tools {
		text := tool.help()
		for _, o := range tool.options {
			name, _, _ := strings.Cut(o.names, " ")
			if !strings.Contains(text, "  "+name) {
				t.Errorf("%s: %s is not in its help", tool.name, name)
			}
			if tool.name == "tsp" && optionWords["tsp"][name] == "" {
				t.Errorf("tsp %s is not explained", name)
			}
		}
	}
	for _, option := range []string{"--gres", "--time", "--array", "--partition"} {
		if c, err := Translate("sbatch", []string{"--help"}, "", "n1"); err != nil || !strings.Contains(c.Help, option) {
			t.Errorf("sbatch --help does not have %s", option)
		}
	}
}

// --version prints the text that wrappers look for.
func TestVersion(t *testing.T) {
	for _, tool := range tools {
		c, err := Translate(tool.name, []string{"--version"}, "", "n1")
		if tool.version != "" && (err != nil || c.Help != tool.version+"\n") {
			t.Errorf("%s --version: %v", tool.name, err)
		}
	}
	if c, err := Translate("sbatch", []string{"-V"}, "", "n1"); err != nil || c.Help != "slurm 24.05.0\n" {
		t.Errorf("sbatch -V: %v", err)
	}
}

// The calls of submitit, Snakemake, Nextflow, Cromwell, batchspawner and Buildkite are translated.
func TestCallsOfWrappers(t *testing.T) {
	for _, line := range []string{
		"squeue --noheader -o %i|%t -t all -u me", "squeue -h -o %i|%t|%T -u me",
		"squeue -h -j 7 -o %T|%B", "squeue -j 7 -h -o %B", "scancel 7",
		"sacct -o JobID,State,NodeList --parsable2 -j 7",
		"sacct -X --parsable2 --clusters all --noheader --format=JobIdRaw,State --starttime 2026-11-01T00:00 --endtime now --name x",
		"sacct -X -n -o State%20 -j 7", "sacctmgr -n -s list user me format=account%20",
		"srun -n1 --cpu-bind=q -- a", "sbatch --parsable --export=ALL -D /x -J n --no-kill --cpu-bind=none x.sh",
		"sinfo -h -o %P|%G|%t", "scontrol show hostnames a[1-3]", "srun --unbuffered --output x_%j_%t.out a",
	} {
		words := strings.Fields(line)
		if _, err := Translate(words[0], words[1:], "", "n1"); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	c, err := Translate("sacctmgr", strings.Fields("-n -s list user me format=account%20"), "", "n1")
	if err != nil || c.Account("x") != "me" {
		t.Errorf("account: %v", err)
	}
	c, err = Translate("scontrol", strings.Fields("show hostnames a[08-10,2],b"), "", "n1")
	if err != nil || c.Help != "a08\na09\na10\na2\nb\n" {
		t.Errorf("hostnames: %v", err)
	}
	c, err = Translate("sinfo", strings.Fields("-h -o %P|%G|%t|%.3D"), "", "n1")
	if got := c.Site(Machine{GPUs: 4, Busy: 1}); err != nil || strings.Join(got, ",") != "gpu*|gpu:4|mix|  1" {
		t.Errorf("sinfo: %q %v", got, err)
	}
}

// The waiting tasks of an array are those that neither became jobs nor were cancelled, whatever was
// cancelled or became a job out of turn before.
func TestWaitingTasks(t *testing.T) {
	spec, err := job.ParseArray("0-9,20-38:2%2")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		n, waits := job.Tasks{}, job.Each(make([]int, spec.Size()), func(int) bool { return true })
		for range random.IntN(spec.Size()) {
			at := n.Next
			switch kind, other := random.IntN(3), random.IntN(spec.Size()); {
			case kind == 0:
				n = n.Pass()
			case !waits[other]:
				continue
			case kind == 1:
				n, at = n.Drop(other, "alice"), other
			case other != n.Next:
				n, at = n.Ahead(other), other
			default:
				n = n.Pass()
			}
			waits[at] = false
		}
		var want []int
		for at, is := range waits {
			if is {
				want = append(want, spec.At(at))
			}
		}
		j := api.Job{State: job.Queued, Array: &api.Array{
			Spec: spec.Spec(), Size: spec.Size(), Next: n.Became(), Cancelled: n.Cancelled(), SkippedTasks: job.ShortTasks(n.Skipped(spec)),
		}}
		rest, err := WaitingTasks(j)
		if err != nil {
			t.Fatal(err)
		}
		got := []int(nil)
		for at := range rest.Size() {
			got = append(got, rest.At(at))
		}
		if !slices.Equal(got, want) {
			t.Errorf("of %+v, %v wait, not %v", n, want, got)
		}
	}
}

// An array is listed with its waiting tasks. With -r each waiting task has a line of its own.
func TestArrayTasks(t *testing.T) {
	now := time.Date(2026, 3, 3, 4, 5, 6, 0, time.UTC)
	array := api.Job{ID: 7, State: job.Queued, Array: &api.Array{Spec: "0-6:3,9%2", Size: 4, Next: 1}}
	begun := api.Job{ID: 8, State: job.Running, Task: &api.Task{Task: job.Task{Array: 7, Index: 0}, Name: "7_0"}}
	ended := api.Job{ID: 5, State: job.Completed, EndedAt: now.Add(-time.Minute)}
	cancelled := api.Job{ID: 6, State: job.Cancelled, EndedAt: now, Array: &api.Array{Spec: "0-2", Size: 3, Next: 2}}
	spawned := api.Job{ID: 3, State: job.Spawned, Array: &api.Array{Spec: "0-2", Size: 3, Next: 3}}
	gone := api.Job{ID: 2, State: job.Queued, Array: &api.Array{Spec: "0-2", Size: 3, Next: 2, Live: 2, Cancelled: 1}}
	over := gone
	over.State = job.Spawned
	holes := api.Job{ID: 1, State: job.Queued, Array: &api.Array{Spec: "0-9%2", Size: 10, Next: 1, Cancelled: 5, SkippedTasks: "3-7"}}
	future := api.Job{State: job.Queued, Task: &api.Task{Task: job.Task{Array: 1, Index: 8}, Name: "1_8"}}
	partly := api.Job{ID: 9, State: job.Completed, EndedAt: now, Array: &api.Array{Spec: "0-2", Size: 3, Next: 2, Cancelled: 1}}
	old := api.Job{ID: 4, State: job.Failed, EndedAt: now.Add(-time.Hour)}
	for line, want := range map[string]string{
		"-h -o %i": "7_0\n7_[3-6:3,9%2]", "-hr -o %i": "7_0\n7_3\n7_6\n7_9", "-hr -t PD -o %F,%K": "7,3\n7,6\n7,9",
		"-h -t all -o %i": "7_0\n7_[3-6:3,9%2]\n5\n6_[2]", "-h -t CD -o %i|%T": "5|COMPLETED", "-h -t R -o %i": "7_0",
	} {
		c, err := Translate("squeue", strings.Fields(line), "", "n1")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Table([]api.Job{begun, array, ended, old, cancelled, spawned, gone, over}, now), "\n"); got != want {
			t.Errorf("%s: %q, not %q", line, got, want)
		}
	}
	for line, want := range map[string]string{
		"squeue -h -o %i": "1_[1-2,8-9%2]", "squeue -hr -o %i": "1_1\n1_2\n1_8\n1_9", "sacct -nP -o jobid": "1_[1-2,8-9%2]",
	} {
		words := strings.Fields(line)
		c, err := Translate(words[0], words[1:], "", "n1")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Table([]api.Job{holes}, now), "\n"); got != want {
			t.Errorf("%s of an array with cancelled tasks: %q, not %q", line, got, want)
		}
	}
	if c, err := Translate("sacct", strings.Fields("-nP -o jobid"), "", "n1"); err != nil || c.Table([]api.Job{partly}, now)[0] != "9_[0-2]" {
		t.Errorf("an array that has ended after one of its tasks was cancelled: %v", err)
	}
	if c, err := Translate("sacct", strings.Fields("-nP -j 1_8 -o jobid,jobidraw,state"), "", "n1"); err != nil || c.Table([]api.Job{future}, now)[0] != "1_8|1|PENDING" {
		t.Errorf("a task that is not a job yet: %v", err)
	}
	var apart []string
	for i := range 100 {
		apart = append(apart, strconv.Itoa(3*i))
	}
	wide, err := job.ParseArray(strings.Join(apart, ","))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Translate("squeue", []string{"-hr", "-o", "%i"}, "", "n1")
	if err != nil {
		t.Fatal(err)
	}
	j := api.Job{ID: 9, State: job.Queued, Array: &api.Array{Spec: wide.Spec(), Size: wide.Size()}}
	if got := c.Table([]api.Job{j}, now); len(got) != 100 || got[99] != "9_297" {
		t.Errorf("-r of an array of 100 separate tasks: %q", got)
	}
	c, err = Translate("squeue", []string{"-j", "4"}, "", "n1")
	if err != nil || c.Check([]api.Job{old}, now) == nil || c.Check([]api.Job{ended}, now) != nil || c.Check(nil, now) == nil {
		t.Errorf("squeue -j of a job that ended an hour ago: %v", err)
	}
}

// A job's fields have the names and forms that squeue and sacct give them.
func TestFields(t *testing.T) {
	now := time.Date(2026, 3, 3, 4, 5, 6, 0, time.UTC)
	j := api.Job{ID: 7, State: job.Running, User: "me", StartedAt: now.Add(-26 * time.Hour), SuspendedTime: job.Span(time.Minute), SuspendedAt: now.Add(-time.Hour)}
	j.MemBytes = 3<<20 + 1
	for format, want := range map[string]string{
		"%t %M": "S 1-00:59:00", "%T|%r": "SUSPENDED|None", "%m": "4M", "%.3A|%-": "!", "%5u|": "me   |", "%.1u": "m",
		"%L %l": "UNLIMITED UNLIMITED", "%S": "2026-03-02T02:05:06", "%e": "N/A",
	} {
		c, err := Translate("squeue", []string{"-h", "-o", format}, "", "n1")
		got := "!"
		if err == nil {
			got = strings.Join(c.Table([]api.Job{j}, now), "\n")
		}
		if got != want {
			t.Errorf("%s: %q, not %q", format, got, want)
		}
	}
	j.State, j.EndedAt = job.Failed, now.Add(-25*time.Hour)
	c, err := Translate("sacct", []string{"-nP", "-o", "jobid,elapsed"}, "", "n1")
	if err != nil || len(c.Table([]api.Job{j}, now)) != 0 {
		t.Errorf("a job that ended yesterday is shown (%v)", err)
	}
	if c, err = Translate("sacct", []string{"-np", "-o", "jobid,elapsed", "-S", "now-2days"}, "", "n1"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Table([]api.Job{j}, now), "\n"); got != "7|00:59:00|" {
		t.Errorf("sacct: %q", got)
	}
	j.Result, j.CPUs, j.GPUMilli = &api.Result{Code: 125}, 2, 1500
	j.Result.ExitCode = 223 // of the launcher
	if c, err = Translate("sacct", []string{"-nP", "-o", "exitcode,cputime,cputimeraw,alloctres,reqcpus,qos,restarts", "-S", "now-2days"}, "", "n1"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Table([]api.Job{j}, now), "\n"); got != "125:0|01:58:00|7080|cpu=2,gres/gpu=1.5,mem=4M,node=1|2|normal|0" {
		t.Errorf("sacct: %q", got)
	}
	if c, err = Translate("squeue", []string{"-ht", "all", "-O", "JobID:4,state:.8,QOS:"}, "", "n1"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Table([]api.Job{j}, j.EndedAt), "\n"); got != "7     FAILEDnormal" {
		t.Errorf("squeue -O: %q", got)
	}
	j.TimeLimit = job.Span(10 * time.Minute)
	for line, want := range map[string]string{"squeue -h -t all -o %l": "10:00", "sacct -nP -S now-2days -o timelimit": "00:10:00"} {
		words := strings.Fields(line)
		c, err := Translate(words[0], words[1:], "", "n1")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Table([]api.Job{j}, j.EndedAt), "\n"); got != want {
			t.Errorf("%s: %q, not %q", line, got, want)
		}
	}
}

// Times are read as sacct reads them. Without a year or a day they are of now's.
func TestTimes(t *testing.T) {
	now := time.Date(2026, 3, 3, 4, 5, 6, 0, time.FixedZone("", 3600))
	for text, want := range map[string]string{
		"2026-02-01": "2026-02-01T00:00:00", "2026-02-01T08:30": "2026-02-01T08:30:00", "0201": "2026-02-01T00:00:00",
		"02/01": "2026-02-01T00:00:00", "020125": "2025-02-01T00:00:00", "02/01/25-08:30": "2025-02-01T08:30:00", "02/01/25": "2025-02-01T00:00:00", "8:30": "2026-03-03T08:30:00",
		"08:30:07": "2026-03-03T08:30:07", "noon": "2026-03-03T12:00:00", "now-1hour": "2026-03-03T03:05:06", "now": "2026-03-03T04:05:06",
	} {
		at, err := parseTime(text, now)
		if got := at.Format("2006-01-02T15:04:05"); err != nil || got != want {
			t.Errorf("%s: %s %v, not %s", text, got, err, want)
		}
	}
}

// A job has the same node, in squeue, sacct and sinfo, as in its own SLURM_JOB_NODELIST.
func TestNode(t *testing.T) {
	now := time.Date(2026, 3, 3, 4, 5, 6, 0, time.UTC)
	j := api.Job{ID: 7, State: job.Running, User: "me", StartedAt: now, PlacedAt: now}
	for _, line := range []string{
		"squeue -ho %N", "squeue -hw localhost -o %B", "squeue -hw n1 -o %R", "squeue -h -O nodelist:2",
		"sacct -nP -o nodelist", "sacct -nP -N n1 -o nodelist",
	} {
		words := strings.Fields(line)
		c, err := Translate(words[0], words[1:], "", "n1")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Table([]api.Job{j}, now), ","); got != "n1" {
			t.Errorf("%s: %q, not n1", line, got)
		}
	}
	for _, line := range []string{"-hN -o %n", "-h -n n1 -o %N"} {
		if c, err := Translate("sinfo", strings.Fields(line), "", "n1"); err != nil || strings.Join(c.Site(Machine{}), ",") != "n1" {
			t.Errorf("sinfo %s: %v", line, err)
		}
	}
	if c, err := Translate("scontrol", []string{"show", "hostnames"}, "", "n1"); err != nil || c.Help != "n1\n" {
		t.Errorf("scontrol show hostnames: %v", err)
	}
}

// scontrol shows jobs that Slurm would remember, and refuses an unknown one.
func TestScontrolShowsJobs(t *testing.T) {
	now := time.Date(2026, 3, 3, 4, 5, 6, 0, time.UTC)
	live := api.Job{ID: 7, State: job.Queued, After: []job.Dependency{{Kind: job.AfterOK, Job: 5}}}
	old := api.Job{ID: 4, State: job.Failed, EndedAt: now.Add(-time.Hour)}
	c, err := Translate("scontrol", []string{"show", "job", "-o"}, "", "n1")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Table([]api.Job{live, old}, now); len(got) != 1 || !strings.Contains(got[0], "JobId=7 ") || !strings.Contains(got[0], " Dependency=afterok:5 ") {
		t.Errorf("show job: %q", got)
	}
	c, err = Translate("scontrol", []string{"show", "job", "4"}, "", "n1")
	if err != nil || len(c.Table([]api.Job{old}, now)) == 0 || c.Check([]api.Job{old}, now) != nil || c.Check(nil, now) == nil {
		t.Errorf("show job 4: %v", err)
	}
}

// seff shows what a job used of what it had.
func TestSeff(t *testing.T) {
	now := time.Date(2026, 3, 3, 4, 5, 6, 0, time.UTC)
	j := api.Job{
		ID: 7, User: "me", State: job.TimedOut, StartedAt: now.Add(-time.Hour), EndedAt: now, CPUSeconds: 3600, PeakMemBytes: 1 << 30,
	}
	j.CPUs, j.MemBytes, j.GPUMilli = 4, 4<<30, job.WholeGPU
	c, err := Translate("seff", []string{"7"}, "", "n1")
	if err != nil || c.Check(nil, now) == nil || c.Check([]api.Job{j}, now) != nil {
		t.Fatal(err)
	}
	got := strings.Join(c.Table([]api.Job{j}, now), "\n")
	for _, line := range []string{
		"Job ID: 7", "State: TIMEOUT (exit code 0)", "Cores per node: 4", "CPU Efficiency: 25.00% of 04:00:00 core-walltime",
		"Job Wall-clock time: 01:00:00", "Memory Utilized: 1G", "Memory Efficiency: 25.00% of 4G", "GPUs: gres/gpu:1; ",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is missing in:\n%s", line, got)
		}
	}
	m := Machine{CPUs: 8, BusyCPUs: 2, MemBytes: 3 << 30}
	if c, err := Translate("sinfo", []string{"-ho", "%m %C"}, "", "n1"); err != nil || strings.Join(c.Site(m), "") != "3072 2/6/0/8" {
		t.Errorf("sinfo: %v", err)
	}
}

// FuzzTranslate checks that any command line becomes words, help or an error.
func FuzzTranslate(f *testing.F) {
	for _, s := range []string{"squeue -o %.18i%", "sacct -S now-9 -o a%", "tsp -fk", "sbatch -Hv x", "scancel --me=", "tgpu submit --", "srun -=x y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Fields(line)
		if len(words) == 0 {
			return
		}
		c, err := Translate(words[0], words[1:], "", "n1")
		if err == nil && len(c.Words) == 0 && c.Help == "" && len(c.Notes) == 0 && c.Lane == nil && c.Site == nil && c.Account == nil && c.FromInput == nil {
			t.Fatalf("%q has no effect and no error", line)
		}
		if err == nil && c.Table != nil {
			c.Table([]api.Job{{ID: 1, State: job.Queued}, {ID: 2, State: job.Completed}}, time.Time{})
		}
	})
}
