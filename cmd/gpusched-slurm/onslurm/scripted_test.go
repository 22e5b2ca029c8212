package onslurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// scripted returns an engine whose programs are shell scripts. Each call adds a line to the file
// named "calls" in the directory dir. The scripts know the directory as $D. Their function Fields
// prints a row of squeue from NAME=VALUE words.
func scripted(t *testing.T, scripts map[string]string, environ ...string) (e *Engine, dir string) {
	t.Helper()
	dir = t.TempDir()
	whole := map[string]string{
		"scontrol": `case "$*" in
			"show config") echo "ClusterName = here"; echo "SLURM_VERSION = 22.05.8"; echo "MinJobAge = 300 sec";;
			"show node"*) echo "NodeName=n1 CPUTot=4 Gres=gpu:a100:4 GresUsed=gpu:a100:0(IDX:N/A) State=IDLE Version=22.05.8";;
			esac`,
		"sacctmgr": "exit 1", "sacct": "exit 1", "squeue": "", "sbatch": "echo 7", "scancel": "",
	}
	for name, text := range scripts {
		whole[name] = text
	}
	for name, text := range whole {
		text = "#!/bin/bash\nD=" + dir + "\nprintf '%s\\n' \"" + name + " $*\" >>$D/calls\n" + fieldsOfSh + text + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	e = New(append([]string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=" + dir}, environ...), 1000, func(text string) { t.Log(text) })
	return e, dir
}

// fieldsOfSh defines the function Fields of the scripts. A column that is not named is N/A.
const fieldsOfSh = `format=$(printf '%s\n' "$@" | sed -n 's/^--Format=//p')
Fields() {
	local IFS=, part name word value
	for part in $format; do
		name=${part%%:*} value=N/A
		for word in "$@"; do [ "${word%%=*}" != "$name" ] || value=${word#*=}; done
		printf '%s%s' "$value" "${part#*:}"
	done
	echo
}
`

func calls(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// simple returns a request that every Slurm can fulfil.
func simple() api.SubmitRequest {
	r := api.SubmitRequest{Label: job.Label{Name: "x"}, Program: api.Program{Argv: api.Words{"/bin/true"}, Dir: "/tmp"}}
	r.EnvMode = "clean"
	return r
}

// If the environment or an option names another cluster, commands on a job id are refused.
func TestOneCluster(t *testing.T) {
	for variable, refused := range map[string]bool{
		"SLURM_CLUSTERS=there": true, "SBATCH_CLUSTERS=there": true, "SLURM_CLUSTERS=here,there": true,
		"SLURM_CLUSTERS=here": false, "SLURM_CLUSTERS=": false,
	} {
		e, dir := scripted(t, map[string]string{"squeue": "Fields JobID=12 UserID=1000 State=RUNNING"}, variable)
		_, err := e.Submit(t.Context(), simple())
		if isCode(err, api.CodeUsage) != refused {
			t.Errorf("%s: submit: %v", variable, err)
		}
		_, err = api.ActOnJob(t.Context(), e, api.RouteCancel, "12", api.CancelRequest{})
		if isCode(err, api.CodeUsage) != refused {
			t.Errorf("%s: cancel: %v", variable, err)
		}
		got := calls(t, dir)
		if acted := strings.Contains(got, "scancel") || strings.Contains(got, "sbatch"); acted == refused {
			t.Errorf("%s: %s", variable, got)
		}
	}
	for _, option := range []string{"-Mthere", "--clusters=there", "--cluster=there"} {
		e, dir := scripted(t, nil)
		if _, err := e.With(option).Submit(t.Context(), simple()); !isCode(err, api.CodeUsage) || strings.Contains(calls(t, dir), "sbatch") {
			t.Errorf("%s: %v", option, err)
		}
	}
}

// If Slurm has put a job on another cluster, the answer
// names that cluster, and the job has no id here.
func TestAnswerOfAnotherCluster(t *testing.T) {
	for answer, number := range map[string]job.ID{"9": 9, "9;here": 9, "9;there": 0} {
		e, _ := scripted(t, map[string]string{"sbatch": "echo '" + answer + "'"})
		reply, err := e.Submit(t.Context(), simple())
		if reply.Job.ID != number || (err == nil) != (number != 0) || err != nil && !strings.Contains(err.Error(), "job 9 of there") {
			t.Errorf("%s: %d %v", answer, reply.Job.ID, err)
		}
	}
}

// sbatch gets no options from the environment except those that describe the user's jobs.
func TestNoOptionFromTheEnvironment(t *testing.T) {
	e, dir := scripted(t, map[string]string{"sbatch": "env >$D/env; echo 7"}, "SBATCH_WAIT=1", "SBATCH_ARRAY_INX=0-99", "SBATCH_ACCOUNT=lab")
	if _, err := e.Submit(t.Context(), simple()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil || strings.Contains(string(text), "SBATCH_") || !strings.Contains(calls(t, dir), " --account=lab ") {
		t.Errorf("%v %s %s", err, text, calls(t, dir))
	}
}

// If the answer of sbatch is lost, the engine searches for
// the job. The user learns its id, or that it may be queued.
func TestLostAnswer(t *testing.T) {
	const keep = `printf '%s\n' "$@" | sed -n 's/^--comment=//p' >$D/comment; `
	const squeue = `[ ! -e $D/comment ] || Fields JobID=3 UserID=1000 State=PENDING Comment=other
		[ ! -e $D/comment ] || Fields JobID=41 UserID=1000 State=PENDING "Comment=$(cat $D/comment)"`
	for name, c := range map[string]struct {
		sbatch string
		id     job.ID
		hint   string
	}{
		"killed, and queued": {keep + "kill -KILL $$", 41, ""},
		"killed before":      {"kill -KILL $$", 0, mayBeQueued},
		"timed out":          {keep + "echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1", 41, ""},
		"not arrived":        {"echo 'sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received' >&2; exit 1", 0, mayBeQueued},
		"refused":            {"echo 'sbatch: error: Batch job submission failed: Invalid account' >&2; exit 1", 0, ""},
	} {
		e, dir := scripted(t, map[string]string{"sbatch": c.sbatch, "squeue": squeue})
		reply, err := e.Submit(t.Context(), simple())
		var apiErr *api.Error
		if errors.As(err, &apiErr); reply.Job.ID != c.id || (err == nil) != (c.id != 0) || apiErr != nil && apiErr.Hint != c.hint {
			t.Errorf("%s: %d %v", name, reply.Job.ID, err)
		}
		if looked := strings.Contains(calls(t, dir), "squeue"); looked == (name == "refused") {
			t.Errorf("%s: %s", name, calls(t, dir))
		}
	}
}

// A user who interrupts a submission learns the job's id.
func TestInterruptedSubmission(t *testing.T) {
	e, _ := scripted(t, map[string]string{
		"sbatch": `printf '%s\n' "$@" | sed -n 's/^--comment=//p' >$D/comment; kill -INT $PPID; exec sleep 60`,
		"squeue": `Fields JobID=41 ArrayJobID=41 UserID=1000 State=PENDING "Comment=$(cat $D/comment)"`,
	})
	var notes []string
	e.note = func(text string) { notes = append(notes, text) }
	e.Names = "slurm"
	reply, err := e.Submit(t.Context(), simple())
	if !errors.Is(err, context.Canceled) || len(notes) != 1 || !strings.Contains(notes[0], "job slurm:41 ('gpusched cancel slurm:41'") || reply.Job.ID != 41 {
		t.Errorf("%d, %v, %q", reply.Job.ID, err, notes)
	}
}

// If the waiting tasks of an array were cancelled,
// the array lives until its last running task ends.
func TestArrayWithCancelledTasks(t *testing.T) {
	running := `Fields JobID=13 ArrayJobID=12 ArrayTaskID=0 UserID=1000 State=RUNNING NodeList=n1 StartTime=1795466354`
	for rest, want := range map[string]job.State{
		"Fields JobID=12 ArrayJobID=12 ArrayTaskID=1-9 UserID=1000 State=CANCELLED": job.Spawned,
		"Fields JobID=12 ArrayJobID=12 ArrayTaskID=1-9 UserID=1000 State=PENDING":   job.Queued,
	} {
		for _, order := range []string{running + "\n" + rest, rest + "\n" + running} {
			e, dir := scripted(t, map[string]string{"squeue": order})
			j, err := e.jobByID(t.Context(), "12")
			if err != nil || j.State != want || j.Array.Size != 10 || j.Array.Live != 1 {
				t.Errorf("%s: %v %+v %v", rest, j.State, j.Array, err)
			}
			if _, err = api.ActOnJob(t.Context(), e, api.RouteCancel, "12", api.CancelRequest{}); err != nil || !strings.Contains(calls(t, dir), "scancel 12") {
				t.Errorf("%s: %v", rest, err)
			}
		}
	}
	ended := strings.Replace(running, "RUNNING", "COMPLETED", 1) + "\nFields JobID=12 ArrayJobID=12 ArrayTaskID=1-9 UserID=1000 State=CANCELLED"
	e, _ := scripted(t, map[string]string{"squeue": ended})
	if j, err := e.jobByID(t.Context(), "12"); err != nil || j.State != job.Cancelled {
		t.Errorf("%+v %v", j, err)
	}
}

// A wait continues while a controller fails over, whatever the controller answers.
func TestWaitOutlastsFailover(t *testing.T) {
	e, dir := scripted(t, map[string]string{"squeue": `n=$(grep -c ^squeue $D/calls)
		case $n in
		1) Fields JobID=12 UserID=1000 State=RUNNING;;
		2) echo "slurm_load_jobs error: Slurm backup controller in standby mode" >&2; exit 1;;
		3) echo "slurm_load_jobs error: Unexpected message received" >&2; exit 1;;
		4) echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1;;
		*) Fields JobID=12 UserID=1000 State=COMPLETED NodeList=n1 exit_code=0;;
		esac`})
	reply, err := api.Wait(t.Context(), e, "12", 0)
	if err != nil || reply.Job.State != job.Completed {
		t.Errorf("%+v %v %s", reply.Job, err, calls(t, dir))
	}
	e, _ = scripted(t, map[string]string{"squeue": `echo "slurm_load_jobs error: Unexpected message received" >&2; exit 1`})
	if _, err := api.Wait(t.Context(), e, "12", 0); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("waiting for a job that was never seen: %v", err)
	}
}

// Neither the usual separator nor newlines in a name or comment can imitate a row.
func TestForgedRows(t *testing.T) {
	evil := strings.Repeat("\x1f", len(jobColumns)) + "\n12" + strings.Repeat("\x1fx", len(jobColumns)-1) + "\x1f\n"
	e, _ := scripted(t, map[string]string{
		"squeue": "Fields JobID=12 UserID=1000 UserName=alice Name=good State=RUNNING\nFields JobID=13 UserID=1001 UserName=bob State=RUNNING " +
			"$'Name=" + strings.NewReplacer("\n", `\n`, "\x1f", `\x1f`).Replace(evil) + "x'",
		"sacct": `d=$(printf '%s\n' "$@" | sed -n 's/^--delimiter=//p'); for n in 7 8; do
			printf "$n${d}$n${d}a\n9\x1f9${d}bob${d}1001${d}COMPLETED"; for i in 1 2 3 4 5 6 7 8 9 10 11; do printf "${d}1"; done; printf "${d}None${d}1\n"; done`,
	})
	list, err := e.queue(t.Context())
	if err != nil || len(list) != 2 || list[0].Name != "good" || list[0].User != "alice" || list[1].ID != 13 || !strings.HasSuffix(list[1].Name, "x") {
		t.Errorf("%+v %v", list, err)
	}
	past, err := e.askAccounting(t.Context())
	if err != nil || len(past) != 2 || past[0].ID != 7 || past[1].ID != 8 || past[1].User != "bob" {
		t.Errorf("%+v %v", past, err)
	}
}

// Output in an unexpected form is an error.
func TestUnreadableRows(t *testing.T) {
	for _, squeue := range []string{"echo 12 RUNNING", "Fields JobID=x State=RUNNING", "Fields JobID=1 State=RUNNING; echo more", "Fields JobID=1 | cut -c1-90"} {
		e, _ := scripted(t, map[string]string{"squeue": squeue})
		if list, err := e.queue(t.Context()); !isCode(err, api.CodeInternal) {
			t.Errorf("%s: %+v %v", squeue, list, err)
		}
	}
	for _, squeue := range []string{"", "echo", "echo squeue: warning: something >&2"} {
		e, _ := scripted(t, map[string]string{"squeue": squeue})
		if list, err := e.queue(t.Context()); err != nil || len(list) > 0 {
			t.Errorf("%s: %+v %v", squeue, list, err)
		}
	}
}

// A new number of GPUs keeps the type of the GPUs. A new priority replaces the QOS of the old class
// with the default QOS of the user: since 24.11, an empty QOS changes nothing.
func TestUpdateKeepsTheRest(t *testing.T) {
	const squeue = "Fields JobID=12 UserID=1000 UserName=me Account=lab State=PENDING tres-per-node=gres:gpu:a100:1 QOS=high"
	gpus, normal := 2000, job.Priority{}
	for _, tt := range []struct {
		sacctmgr, want string
		change         job.Change
	}{
		{"exit 1", "TresPerNode=gres:gpu:a100:2", job.Change{GPUMilli: &gpus}},
		{"exit 1", "QOS= Nice=0 Comment=", job.Change{Priority: &normal}},
		{`[[ "$*" = *"user=me account=lab format=DefaultQOS,QOS" ]] && echo "|high,normal"`, "QOS=normal Nice=0 Comment=", job.Change{Priority: &normal}},
		{`echo "long|high,long,normal"`, "QOS=long Nice=0 Comment=", job.Change{Priority: &normal}},
		{`echo "|high"`, "QOS= Nice=0 Comment=", job.Change{Priority: &normal}},
	} {
		e, dir := scripted(t, map[string]string{"squeue": squeue, "sacctmgr": tt.sacctmgr})
		want := "scontrol update JobId=12 " + tt.want + "\n"
		if _, err := api.ActOnJob(t.Context(), e, api.RouteUpdate, "12", tt.change); err != nil || !strings.Contains(calls(t, dir), want) {
			t.Errorf("%v, not %q: %s", err, want, calls(t, dir))
		}
	}
}

// A node is drained once, and only if the command names all its GPUs.
func TestWholeNodesArePaused(t *testing.T) {
	const drain = "scontrol update NodeName=n1 State=DRAIN Reason=fan\n"
	for meant, whole := range map[string]bool{"": false, "0-2": false, "0-3": true} {
		e, dir := scripted(t, nil)
		indexes, _ := job.ParseGPUList(meant)
		e.Meant(indexes)
		for index := range 4 {
			if _, err := api.ActOnGPU(t.Context(), e, api.RoutePauseGPU, index, api.PauseRequest{Reason: "fan"}); isCode(err, api.CodeNever) == whole {
				t.Errorf("%q are named, GPU %d: %v", meant, index, err)
			}
		}
		if n := strings.Count(calls(t, dir), drain); (n == 1) != whole || n > 1 {
			t.Errorf("%q are named, and the node is drained %d times: %s", meant, n, calls(t, dir))
		}
	}
}

// If a command names only some GPUs of the second node, it is refused before the first node is
// drained.
func TestHalfANodeIsRefusedFirst(t *testing.T) {
	list := []node{{name: "n1", gpus: make([]nodeGPU, 4)}, {name: "n2", gpus: make([]nodeGPU, 2)}, {name: "n3"}}
	for text, want := range map[string]string{
		"0-3": "", "0-5": "", "4-5": "", "9": "there is no GPU 9", "0-3,9": "there is no GPU 9",
		"0-4": "GPU 4 alone: it drains whole nodes, and n2 has GPUs 4-5", "1": "n1 has GPUs 0-3", "3-5": "n1 has GPUs 0-3",
	} {
		meant, _ := job.ParseGPUList(text)
		err := wholeNodes(list, meant, "pause")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSplitReason(t *testing.T) {
	for text, want := range map[string]string{
		"fan [root@1700000000]": "fan|root|1700000000", "a [b@c] d [eve@1700000000]": "a [b@c] d|eve|1700000000",
		"": "||0", "fan": "fan||0", "fan [0]": "fan [0]||0", "fan [root@]": "fan [root@]||0",
	} {
		reason, by, since := splitReason(text)
		if got := fmt.Sprintf("%s|%s|%d", reason, by, max(0, since.Unix())); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// The result of a job that ran out of memory on one node names its memory limit.
func TestOutOfMemoryNamesTheLimit(t *testing.T) {
	for nodes, want := range map[string]string{"n1": "memory limit of 100M", "n[1-2]": "ran out of memory"} {
		row := "Fields JobID=12 UserID=1000 State=OUT_OF_MEMORY tres-alloc=mem=100M NodeList=" + nodes
		e, _ := scripted(t, map[string]string{"squeue": row})
		reply, err := api.Show(t.Context(), e, "12", api.JobQuery{})
		if err != nil || reply.Job.Result == nil || !strings.Contains(reply.Job.Result.Sentence, want) {
			t.Errorf("%s: %+v %v", nodes, reply.Job.Result, err)
		}
	}
}

// For root, nothing is cached in HOME, because HOME may belong to another user.
func TestRootKeepsNoSite(t *testing.T) {
	for uid, kept := range map[int]bool{0: false, os.Getuid() + 1000: true} {
		e, dir := scripted(t, nil)
		e.uid = uid
		if _, err := e.Submit(t.Context(), simple()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(dir, ".cache")); (err == nil) != kept {
			t.Errorf("uid %d: %v", uid, err)
		}
	}
}

// An answer that never ends is an error.
func TestEndlessAnswer(t *testing.T) {
	e, _ := scripted(t, map[string]string{"squeue": "head -c 280000000 /dev/zero"})
	if _, err := e.queue(t.Context()); !isCode(err, api.CodeUnavailable) || !strings.Contains(err.Error(), "more than 256M") {
		t.Error(err)
	}
}

// The directory of a job's log is created, because Slurm
// does not create it. A dry run does not create it.
func TestLogDirectory(t *testing.T) {
	e, dir := scripted(t, nil)
	r := simple()
	r.Dir, r.Log.Path = api.Bytes(dir), "logs/deep/%j.txt"
	for _, dry := range []bool{true, false} {
		r.DryRun = dry
		if _, err := e.Submit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "logs/deep")); (err != nil) != dry {
			t.Errorf("on a dry run (%v): %v", dry, err)
		}
	}
	var notes []string
	e.note = func(text string) { notes = append(notes, text) }
	r.Log.Path = "calls/%j.txt" // calls is a file, not a directory
	if _, err := e.Submit(t.Context(), r); err != nil || len(notes) != 1 {
		t.Errorf("%v, %q", err, notes)
	}
}
