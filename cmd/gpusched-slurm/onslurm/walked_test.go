package onslurm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// The reply to a submission has the job's owner and the
// reason why it waits, without another query to Slurm.
func TestSubmissionSaysWhatItWaitsFor(t *testing.T) {
	for want, change := range map[string]func(*api.SubmitRequest){
		"held by its user": func(r *api.SubmitRequest) { r.Hold = true },
		"not to begin before 2037-": func(r *api.SubmitRequest) {
			r.Begin = time.Date(2037, 1, 2, 3, 4, 5, 0, time.UTC)
		},
		"waits until job 12 ends": func(r *api.SubmitRequest) { r.After = []job.Dependency{{Kind: job.AfterAny, Job: 12}} },
		"":                        func(*api.SubmitRequest) {},
	} {
		e, dir := scripted(t, map[string]string{"squeue": "Fields JobID=12 UserID=1000 State=RUNNING"}, "USER=alice")
		r := simple()
		change(&r)
		reply, err := e.Submit(t.Context(), r)
		j := reply.Job
		if err != nil || j.User != "alice" || j.SubmittedAt.IsZero() || !strings.HasPrefix(j.Why, want) || (want == "") != (len(j.Reasons) == 0) {
			t.Errorf("%q: %+v %v", want, j, err)
		}
		if n := strings.Count(calls(t, dir), "squeue"); n != min(1, len(r.After)) {
			t.Errorf("%q: squeue ran %d times", want, n)
		}
	}
}

// A dependency that can never be met is refused, because Slurm would start the job at once.
func TestImpossibleDependencies(t *testing.T) {
	for _, tt := range []struct {
		squeue, sacct string
		kind          job.DependencyKind
		want          api.Code
	}{
		{"Fields JobID=12 UserID=1000 State=RUNNING", "exit 1", job.AfterOK, ""},
		{"Fields JobID=12 UserID=1000 State=COMPLETED exit_code=0", "exit 1", job.AfterOK, ""},
		{"Fields JobID=12 UserID=1000 State=FAILED exit_code=256", "exit 1", job.AfterOK, api.CodeNever},
		{"Fields JobID=12 UserID=1000 State=FAILED exit_code=256", "exit 1", job.AfterAny, ""},
		{"Fields JobID=12 UserID=1000 State=COMPLETED exit_code=0", "exit 1", job.AfterFail, api.CodeNever},
		{"", "exit 1", job.AfterAny, api.CodeNotFound},
	} {
		e, dir := scripted(t, map[string]string{"squeue": tt.squeue, "sacct": tt.sacct})
		r := simple()
		r.After = []job.Dependency{{Kind: tt.kind, Job: 12}}
		_, err := e.Submit(t.Context(), r)
		if (err == nil) != (tt.want == "") || err != nil && !isCode(err, tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
		if strings.Contains(calls(t, dir), "sbatch") != (tt.want == "") {
			t.Errorf("%+v: %s", tt, calls(t, dir))
		}
	}
}

// If a command names all GPUs of a node, the node is
// drained once for all of them, and resumed once.
func TestWholeNodeIsDrained(t *testing.T) {
	const nodes = `case "$*" in "show node"*)
		state=IDLE; [ ! -e $D/drained ] || state=IDLE+DRAIN
		[ ! -e $D/quiet ] || { state=IDLE+NOT_RESPONDING; rm $D/quiet; }
		echo "NodeName=n1 CPUTot=4 Gres=gpu:a100:2 State=$state"; echo "NodeName=n2 CPUTot=4 Gres=gpu:1 State=IDLE";;
		*State=DRAIN*) touch $D/drained;; *State=RESUME*) [ -e $D/drained ] || exit 1; mv $D/drained $D/quiet;; esac`
	e, dir := scripted(t, map[string]string{"scontrol": nodes})
	ctx := t.Context()
	if _, err := api.ActOnGPU(ctx, e, api.RoutePauseGPU, 0, api.PauseRequest{}); !isCode(err, api.CodeNever) || !strings.Contains(err.Error(), "n1 has GPUs 0-1") {
		t.Error(err)
	}
	if _, err := api.ActOnGPU(ctx, e, api.RoutePauseGPU, 2, api.PauseRequest{}); err != nil {
		t.Error(err)
	}
	e.Meant([]int{0, 1})
	for _, index := range []int{0, 1} {
		reply, err := api.ActOnGPU(ctx, e, api.RoutePauseGPU, index, api.PauseRequest{Reason: "new fan"})
		if err != nil || len(reply.GPUs) != 3 || !reply.GPUs[0].Paused || !reply.GPUs[1].Paused || reply.GPUs[2].Paused {
			t.Errorf("%+v %v", reply.GPUs, err)
		}
	}
	e.Meant([]int{0, 1})
	for _, index := range []int{0, 1} {
		if reply, err := api.ActOnGPU(ctx, e, api.RouteResumeGPU, index, nil); err != nil || reply.GPUs[0].State != job.GPUFree {
			t.Errorf("%+v %v", reply.GPUs, err)
		}
	}
	if got := calls(t, dir); strings.Count(got, "NodeName=n1 State=RESUME") != 1 || !strings.Contains(got, "NodeName=n1 State=DRAIN Reason=new fan") {
		t.Error(got)
	}
}

// Each GPU shows all jobs on it, even if the query asks for other jobs.
func TestOthersAreOnTheGPUs(t *testing.T) {
	e, _ := scripted(t, map[string]string{
		"squeue": `case "$*" in *--user=bob*) exit 0;; esac
			Fields JobID=12 UserID=1000 UserName=me Name=x State=RUNNING tres-per-node=gres:gpu:1 NodeList=n1`,
		"scontrol": `case "$*" in
			"show node"*) echo "NodeName=n1 CPUTot=4 Gres=gpu:a100:1 GresUsed=gpu:a100:1(IDX:0) State=MIXED";;
			"show job"*) echo "JobId=12 JobName=x UserId=me(1000) JOB_GRES=gpu:1   Nodes=n1 CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:0) MinCPUsNode=1";; esac`,
	})
	reply, err := api.List(t.Context(), e, api.ListQuery{User: "bob", Reasons: api.WithReasons})
	if err != nil || len(reply.Jobs) != 0 || len(reply.GPUs) != 1 || !slices.Equal(reply.GPUs[0].Jobs, []job.ID{12}) {
		t.Errorf("%+v %v", reply, err)
	}
}

// Slurm's numbers and words are translated for people.
func TestTranslatedWords(t *testing.T) {
	r := row{}
	for column, value := range map[column]string{colJobID: "7", colState: "FAILED", colExitCode: "0:53", colNodeList: "n1", colStartTime: "1795476994"} {
		r[column] = value
	}
	j := r.job()
	if got := j.Result; got.Code != 125 || !strings.HasPrefix(got.Sentence, "could not start: its directory could not be entered") {
		t.Errorf("%+v", got)
	}
	r[colState], r[colReason], r[colNodeList] = "CANCELLED", "DependencyNeverSatisfied", ""
	if j = r.job(); j.Result.Sentence != "cancelled: what it waited for can't happen any more" {
		t.Errorf("%+v", j.Result)
	}
	e, _ := scripted(t, map[string]string{
		"sbatch":   `echo "sbatch: error: Batch job submission failed: Requested node configuration is not available" >&2; exit 1`,
		"squeue":   "Fields JobID=12 UserID=1000 State=RUNNING",
		"scontrol": `case "$*" in suspend*) echo "Access/permission denied for job 12" >&2; exit 1;; *config) echo "ClusterName = here";; esac`,
	})
	if _, err := e.Submit(t.Context(), simple()); !isCode(err, api.CodeNever) || !strings.HasPrefix(err.Error(), "can never start: no node has what it asks for") {
		t.Error(err)
	}
	if _, err := api.ActOnJob(t.Context(), e, api.RouteSuspend, "12", nil); !isCode(err, api.CodeForbidden) || !strings.Contains(err.Error(), "Slurm's operators and administrators") {
		t.Error(err)
	}
	if groups := groupTasks([]api.Job{{State: job.Queued, Array: &api.Array{Spec: "0-4%2", Size: 5}}}); groups[0].Tasks != "0-4" {
		t.Errorf("%+v", groups)
	}
}

// A job can be found by the id that gpusched prints.
func TestPrintedNames(t *testing.T) {
	e, dir := scripted(t, map[string]string{"squeue": "Fields JobID=12 UserID=1000 State=COMPLETED NodeList=n1 exit_code=0"})
	e.Names = "slurm"
	for what, ask := range map[string]func(id string) (api.JobReply, error){
		"job": func(id string) (api.JobReply, error) { return api.Show(t.Context(), e, id, api.JobQuery{}) },
		"why": func(id string) (api.JobReply, error) { return api.Show(t.Context(), e, id, api.JobQuery{Why: true}) },
		"results": func(id string) (api.JobReply, error) {
			return api.Show(t.Context(), e, id, api.JobQuery{Results: true})
		},
		"wait": func(id string) (api.JobReply, error) { return api.Wait(t.Context(), e, id, 0) },
	} {
		reply, err := ask("slurm:12")
		if err != nil || reply.Job.ID != 12 || reply.Job.Engine != "slurm" {
			t.Errorf("%s: %+v %v", what, reply.Job, err)
		}
	}
	if got := calls(t, dir); strings.Contains(got, "slurm:") {
		t.Errorf("Slurm was asked for\n%s", got)
	}
}

// A command in a job gets the variables of that job, not those of the caller's job.
func TestWithinKnowsItsJob(t *testing.T) {
	e, _ := scripted(t, map[string]string{"srun": ""}, "GPUSCHED_JOB_ID=5", "A=b", "SLURM_JOB_GPUS=7", "CUDA_VISIBLE_DEVICES=7")
	j := api.Job{ID: 12, Attempt: 2, Task: &api.Task{Task: job.Task{Array: 10, Index: 3}}, Request: job.Request{GPUMemBytes: 20 << 30}}
	p, err := e.Within(j, false, "true")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"GPUSCHED_JOB_ID=12", "GPUSCHED_ATTEMPT=2", "GPUSCHED_ARRAY_TASK=3", "GPUSCHED_GPU_MEM_MIB=20480", "A=b"} {
		if !slices.Contains(p.Environ, want) {
			t.Errorf("no %s in %q", want, p.Environ)
		}
	}
	for _, v := range p.Environ {
		if v == "GPUSCHED_JOB_ID=5" || strings.HasSuffix(v, "=7") {
			t.Errorf("%s of the caller's job is passed on", v)
		}
	}
}
