package onslurm

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/slurmexec"
	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// recordedOutput returns the output of a program of a real Slurm. It was recorded in a box of the
// suite with that release.
func recordedOutput(t *testing.T, release, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", release, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func recordedJobs(t *testing.T, release string) map[string]api.Job {
	jobs := map[string]api.Job{}
	for _, j := range recordedQueue(t, release) {
		jobs[j.Name+colonTask(j)] = j
	}
	return jobs
}

// recordedColumns returns the columns that packaging/test/slurm/record.sh records.
func recordedColumns() (list []column) {
	for name := range strings.FieldsSeq(`JobID ArrayJobID ArrayTaskID Name UserName UserID State Reason SubmitTime EligibleTime
		StartTime EndTime TimeLimit tres-alloc tres-per-node tres-per-job tres-per-task NumNodes NumTasks
		NumCPUs MinMemory NodeList Dependency Comment Nice PriorityLong Partition exit_code RestartCnt WorkDir STDOUT`) {
		c := column(slices.Index(columnNames[:], name))
		if c < 0 {
			c = colUnused
		}
		list = append(list, c)
	}
	return list
}

func recordedQueue(t *testing.T, release string) (list []api.Job) {
	t.Helper()
	table, err := readRows([]byte(recordedOutput(t, release, "squeue.txt")), recordedColumns(), separator)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table {
		list = append(list, r.job())
	}
	return list
}

func colonTask(j api.Job) string {
	if j.Task == nil {
		return ""
	}
	return fmt.Sprintf(":%d", j.Task.Index)
}

// sketch returns the parts of a job that the tests compare.
func sketch(j api.Job) string {
	text := fmt.Sprintf("%s %s gpus %s %s mem %s cpus %d", j.User, j.State, job.FormatGPUs(j.GPUMilli), j.GPUType, job.FormatSize(j.MemBytes), j.CPUs)
	if j.Result != nil {
		text += fmt.Sprintf(" → %d %s", j.Result.Code, j.Result.Sentence)
	}
	if j.Why != "" {
		text += " ∵ " + j.Why
	}
	return text
}

func TestRecordedJobs(t *testing.T) {
	jobs := recordedJobs(t, "22.05")
	for name, want := range map[string]string{
		"ok":        "bob completed gpus 0  mem 10M cpus 1 → 0 completed: exit code 0",
		"fail":      "bob failed gpus 0  mem 10M cpus 1 → 3 failed: exit code 3",
		"kill it":   "bob failed gpus 0  mem 10M cpus 1 → 137 killed by signal 9 (KILL)",
		"arr:2":     "bob failed gpus 0  mem 10M cpus 1 → 2 failed: exit code 2",
		"run1":      "bob running gpus 2 a100 mem 500M cpus 2",
		"shard":     "bob running gpus 0.5  mem 10M cpus 1",
		"run2":      "bob running gpus 1  mem 100M cpus 1",
		"pend":      "bob queued gpus 3  mem 100M cpus 1 ∵ it is next: what it asks for is not free yet (Slurm: Resources)",
		"held":      "bob queued gpus 1  mem 100M cpus 1 ∵ held by its user ('gpusched release' lets it go) (Slurm: JobHeldUser)",
		"dep":       "bob queued gpus 0  mem 100M cpus 1 ∵ waits until job 10 completes and job 12 ends",
		"never-dep": "bob queued gpus 0  mem 100M cpus 1 ∵ what it waits for can't happen any more: it will never start (cancel it) (Slurm: DependencyNeverSatisfied)",
		"cancelled": "bob cancelled gpus 3  mem 100M cpus 1 → 143 cancelled",
		"waits":     "bob queued gpus 4  mem 100M cpus 1 ∵ jobs of a higher priority are before it (Slurm: Priority)",
	} {
		if got := sketch(jobs[name]); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	if _, ok := jobs["never"]; ok {
		t.Error("a refused submission is listed as a job")
	}
	run, held, begin, waits := jobs["run1"], jobs["held"], jobs["begin"], jobs["waits"]
	switch {
	case run.TimeLimit.Duration() != time.Hour || run.Comment != "hello" || run.Tags["a"] != "b" || run.ExpectedEnd.Sub(run.StartedAt) != time.Hour:
		t.Errorf("run1: %+v", run)
	case held.HeldBy != "bob" || held.Priority.Number != -7:
		t.Errorf("held: %+v", held)
	case begin.Begin.Sub(begin.SubmittedAt) != time.Hour:
		t.Errorf("begin: %+v", begin)
	case waits.Array == nil || waits.Array.Size != 5 || waits.Array.Limit != 2:
		t.Errorf("waits: %+v", waits.Array)
	case jobs["arr:3"].Task.Name != "4_3" || jobs["arr:3"].Manager != Manager:
		t.Errorf("arr: %+v", jobs["arr:3"])
	}
}

func TestArrayIsItsTasks(t *testing.T) {
	all := recordedQueue(t, "22.05")
	found := indexByName(all, []string{"4", "4_2"})
	array := found["4"]
	if array.Array == nil || array.Array.Spec != "0-5" || array.Array.Failed != 5 || array.State != job.Failed || array.Result.Code != 1 {
		t.Errorf("%+v %+v", array.Array, array.Result)
	}
	if found["4_2"].Task.Index != 2 {
		t.Errorf("%+v", found["4_2"])
	}
	for _, id := range []string{"waits"} {
		whole := recordedJobs(t, "22.05")[id]
		name := fmt.Sprintf("%d_7", whole.ID)
		if j := indexByName(all, []string{name})[name]; j.Task == nil || j.Task.Index != 7 || j.State != job.Queued || j.ID != 0 {
			t.Errorf("a task that has not started: %+v", j)
		}
		name = fmt.Sprintf("%d_8", whole.ID)
		if j, ok := indexByName(all, []string{name})[name]; ok {
			t.Errorf("a task that does not exist: %+v", j)
		}
	}
}

func TestRecordedNodes(t *testing.T) {
	nodes := readNodes(recordedOutput(t, "22.05", "nodes.txt"))
	if len(nodes) != 1 || len(nodes[0].gpus) != 4 || nodes[0].gpus[0].kind != "a100" || nodes[0].cpus != 16 || nodes[0].mem != 4000<<20 {
		t.Fatalf("%+v", nodes)
	}
	gpus := gpuList(nodes)
	if gpus[3].UUID != nodes[0].name+"/gpu3" || gpus[0].State != job.GPUBusy {
		t.Errorf("%+v", gpus)
	}
	site := siteOf(slurmexec.Settings(recordedOutput(t, "22.05", "config.txt")), nodes)
	if site.Version.String() != "22.05" || site.MaxArraySize != 100001 || site.KillWait != 30*time.Second || site.Shards != 4 || len(site.GPUTypes) != 1 {
		t.Errorf("%+v", site)
	}
}

// A job's GPUs are read from the text after its name, but before all other texts of its user.
func TestRecordedAllocations(t *testing.T) {
	number := numberGPUs(readNodes(recordedOutput(t, "22.05", "nodes.txt")))
	found := recordsByID(recordedOutput(t, "22.05", "jobs.txt"))
	got := map[string]string{}
	for _, j := range recordedQueue(t, "22.05") {
		said := found[j.ID.String()]
		record, ok := recordOf(said, &j)
		if len(said) > 0 && !ok {
			t.Errorf("%q has no record among %d", j.Name, len(said))
		}
		var list []string
		for _, a := range allocations(record, number) {
			list = append(list, fmt.Sprint(a.Index))
		}
		got[j.Name] = strings.Join(list, ",")
	}
	if got["run1"] != "0,1" || got["run2"] == "" || got["shard"] == "" || got["pend"] != "" {
		t.Errorf("%v", got)
	}
}

// A job's name or comment cannot imitate a record. The
// imitated job is either asked for separately, or has no GPUs.
func TestForgedRecords(t *testing.T) {
	number := map[gpuOnNode]int{{"n", 0}: 0, {"n", 1}: 1, {"n", 2}: 2}
	line := func(id int, name, user, gpus, comment string) string {
		return fmt.Sprintf("JobId=%d JobName=%s UserId=%s GroupId=x JOB_GRES=gpu:1   Nodes=n CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:%s) MinCPUsNode=1 Command=/x WorkDir=/y Comment=%s Power=\n",
			id, name, user, gpus, comment)
	}
	bobs := func(id int, name string) *api.Job {
		return &api.Job{ID: job.ID(id), UID: 7, Label: job.Label{Name: name}}
	}
	alice := &api.Job{ID: 6, UID: 8, Label: job.Label{Name: "y"}}
	fake := line(6, "y", "alice(8)", "2", "")
	for what, c := range map[string]struct {
		text string
		j    *api.Job
		want string
	}{
		"plain":                      {line(5, "x", "bob(7)", "0", "") + line(6, "y", "alice(8)", "1", ""), alice, "[1]"},
		"facts in a name":            {line(5, "x UserId=bob(7) JOB_GRES=gpu Nodes=n CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:2) MinCPUsNode=1", "bob(7)", "0", ""), bobs(5, "x UserId=bob(7) JOB_GRES=gpu Nodes=n CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:2) MinCPUsNode=1"), "[0]"},
		"facts in a comment":         {line(5, "x", "bob(7)", "0", " JOB_GRES=gpu Nodes=n CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:2) MinCPUsNode=1"), bobs(5, "x"), "[0]"},
		"a record in a name":         {line(5, "x\n"+fake, "bob(7)", "0", "") + line(6, "y", "alice(8)", "1", ""), alice, "unclear"},
		"the job of that name":       {line(5, "x\n"+fake+"z", "bob(7)", "0", ""), bobs(5, "x\n"+fake+"z"), "[0]"},
		"a record in a comment":      {line(5, "x", "bob(7)", "0", "z\n"+fake) + line(6, "y", "alice(8)", "1", ""), alice, "unclear"},
		"one of another user's":      {line(5, "x", "bob(7)", "0", "z\n"+line(6, "y", "bob(7)", "2", "")) + line(6, "y", "alice(8)", "1", ""), alice, "[1]"},
		"its own, cut short":         {line(5, "x UserId=bob(7) JOB_GRES=gpu Nodes=n CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:2) MinCPUsNode=1\nJobId=9 JobName=q", "bob(7)", "0", ""), bobs(5, "x"), "[2]"},
		"the same, by its real name": {line(5, "x UserId=bob(7) JOB_GRES=gpu Nodes=n CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:2) MinCPUsNode=1\nJobId=9 JobName=q", "bob(7)", "0", ""), bobs(5, "x UserId=bob(7) JOB_GRES=gpu Nodes=n CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:2) MinCPUsNode=1\nJobId=9 JobName=q"), "[0]"},
	} {
		got := "unclear"
		if record, ok := recordOf(recordsByID(c.text)[c.j.ID.String()], c.j); ok {
			list := []int{}
			for _, a := range allocations(record, number) {
				list = append(list, a.Index)
			}
			got = fmt.Sprint(list)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

func TestRecordedHealth(t *testing.T) {
	checks := controllerChecks(recordedOutput(t, "22.05", "ping.txt"))
	if len(checks) != 1 || checks[0].Health != job.Healthy {
		t.Errorf("%+v", checks)
	}
	if got := job.Worst(controllerChecks(recordedOutput(t, "22.05", "ping-down.txt"))); got != job.Failing {
		t.Error(got)
	}
	// Example from scontrol(1) of a site with a backup controller.
	text := "Slurmctld(primary) at n1 is DOWN\nSlurmctld(backup) at n2 is UP\n"
	if got := job.Worst(controllerChecks(text)); got != job.Degraded {
		t.Error(got)
	}
	if got := job.Worst(controllerChecks("Slurmctld(primary) at n1 is DOWN\n")); got != job.Failing {
		t.Error(got)
	}
}

func TestForecast(t *testing.T) {
	j := api.Job{State: job.Queued}
	setForecast(&j, fmt.Sprintf("sbatch: Job 23 to start at %d using 1 processors on nodes n1 in partition all\n", time.Now().Add(time.Hour).Unix()))
	if j.State != job.Queued || j.ExpectedStart.IsZero() {
		t.Errorf("%+v", j)
	}
	j = api.Job{State: job.Queued}
	setForecast(&j, recordedOutput(t, "22.05", "testonly.txt")) // the year 4068 means that Slurm does not know the start
	if j.State != job.Queued || !j.ExpectedStart.IsZero() || j.Why == "" {
		t.Errorf("%+v", j)
	}
}

func TestSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1:00": time.Minute, "30:00": 30 * time.Minute, "1:00:00": time.Hour, "1-12:00:00": 36 * time.Hour,
		"2-03": 51 * time.Hour, "UNLIMITED": 0, "": 0, "365-00:00:00": 365 * 24 * time.Hour,
	} {
		if got, _ := slurm.Minutes(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestTres(t *testing.T) {
	for text, want := range map[string]string{
		"gres:gpu:a100:2":                  "2 a100",
		"gres/gpu:a100:2":                  "2 a100",
		"gres/gpu:3":                       "3 ",
		"gpu:1":                            "1 ",
		"gres:gpu":                         "1 ",
		"cpu=2,mem=500M,node=1,gres/gpu=2": "2 ",
		"cpu=2,gres/gpu=4,gres/gpu:h100=4": "4 h100",
		"gres:shard:4":                     " ",
	} {
		amounts, kind := parseTRES(text)
		if got := amounts["gpu"] + " " + kind; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestStateText(t *testing.T) {
	for state, want := range map[string]string{
		"IDLE": "idle", "DOWN+NOT_RESPONDING": "down, not responding", "DOWN*": "down, not responding", "MIXED+DRAIN": "mixed, drain",
		"IDLE~": "idle", "DOWN*+DRAIN": "down, drain, not responding",
	} {
		if got := (&node{state: state}).stateText(); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
}

func TestTasks(t *testing.T) {
	for spec, want := range map[string]string{
		"0-5%2": "6 0-5", "[1-9:2]": "5 1-9:2", "1,3,5": "3 1,3,5", "0-2,3,4-9": "10 0-9", "7,...": "1 7", "4-4:2,5": "2 4-5", "9-1": "0 ",
		"0-9999999": "1000001 0-1000000",
		strings.Repeat("0-9999999,", 10000) + "1-3:2": "10000010002 0-1000000,1-3:2",
	} {
		a := parseTasks(spec)
		if got := fmt.Sprintf("%d %s", a.Size(), formatTasks(a.Ranges, 0)); got != want {
			t.Errorf("%.40s: %s, want %s", spec, got, want)
		}
	}
	if a := parseTasks("1-9:2"); !a.Has(9) || a.Has(4) || a.Has(11) {
		t.Errorf("%+v", a)
	}
}

func TestExplain(t *testing.T) {
	for word, want := range map[string]string{
		"ReqNodeNotAvail, UnavailableNodes:n1": "a node that it needs is not available: down, drained or reserved (Slurm: ReqNodeNotAvail)",
		"QOSMaxGRESPerUser":                    "a limit of its user on GPUs is reached (Slurm: QOSMaxGRESPerUser)",
		"AssocGrpGRESMinutes":                  "a limit of its account on GPU time is reached (Slurm: AssocGrpGRESMinutes)",
		"SomethingNew":                         "Slurm says SomethingNew",
		"(something new, of a plugin)":         "Slurm says something new, of a plugin",
		"RaisedSignal:53(Real-time signal 19)": "it was ended by a signal (Slurm: RaisedSignal)",
		"launch failed requeued held":          "it could not be started and is held ('gpusched release' tries again) (Slurm: launch_failed_requeued_held)",
	} {
		if got := explain(word); got != want {
			t.Errorf("%s: %s", word, got)
		}
	}
	if codeFor("QOSMaxJobsPerUserLimit") != job.ReasonQuotaJobs || codeFor("AssocMaxMemPerJob") != job.ReasonQuotaMem {
		t.Error("codes of limits")
	}
}

func FuzzRows(f *testing.F) {
	text, err := os.ReadFile("testdata/22.05/squeue.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var all []api.Job
		table, err := readRows([]byte(text), recordedColumns(), separator)
		for _, r := range table {
			all = append(all, r.job())
		}
		pieces := newAnswer(recordedColumns(), separator, func(*row) {})
		for i := range len(text) {
			_, _ = pieces.Write([]byte(text[i : i+1]))
		}
		if got := pieces.finish(); (got == nil) != (err == nil) {
			t.Errorf("byte by byte: %v, and in one piece: %v", got, err)
		}
		indexByName(all, []string{"4", "4_2"})
		groupTasks(all)
	})
}

// A signal to the command alone becomes a signal to the batch script alone.
func TestSignalToTheCommand(t *testing.T) {
	for want, r := range map[string]api.CancelRequest{
		"7":                     {},
		"--full --signal=10 7":  {Signal: 10},
		"--batch --signal=10 7": {Signal: 10, Main: true},
	} {
		if got := strings.Join(cancelArgs(r, "7"), " "); got != want {
			t.Errorf("scancel %s, want %s", got, want)
		}
	}
}
