package sbatch

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// site is a Slurm that has most of what a Slurm can have.
var site = Site{
	Version: Version{22, 5}, GPUTypes: []string{"a100", "h100_80gb"}, Shards: 40, MaxArraySize: 1001, Home: "/home/alice",
	Features: []string{"gpu_mem_40gb", "gpu_mem_80gb", "ib"}, KillWait: 30 * time.Second,
}

// request returns a request for one GPU in /work.
func request(argv ...string) api.SubmitRequest {
	r := api.SubmitRequest{Label: job.Label{Name: "train"}, Program: api.Program{EnvMode: "clean", Dir: "/work", Umask: 0o22}}
	r.GPUMilli = job.WholeGPU
	r.Argv = argv
	return r
}

func yes(b bool) *bool { return &b }

// Each option becomes the expected arguments of sbatch, in addition to those that every job has.
func TestOptions(t *testing.T) {
	span := func(d time.Duration) *job.Span { s := job.Span(d); return &s }
	always := "--parsable --job-name=train --nodes=1 --ntasks=1 --chdir=/work --export=ALL "
	for _, tt := range []struct {
		name string
		ask  func(r *api.SubmitRequest, s *Site)
		want string // expected part of the arguments or of the error
	}{
		{"a whole GPU", func(*api.SubmitRequest, *Site) {}, "--gres=gpu:1"},
		{"no GPU", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli = 0 }, ""},
		{"GPUs of a type", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli, r.GPUType = 2000, "A100" }, "--gres=gpu:a100:2"},
		{"GPUs of each task", func(r *api.SubmitRequest, s *Site) {
			r.GPUMilli, r.GPUType, s.Options = 8000, "A100", []string{"--gpus-per-task=2"}
		}, "--gpus-per-task=2 --gpus-per-task=a100:2"},
		{"the beginning of a type", func(r *api.SubmitRequest, _ *Site) { r.GPUType = "h100" }, "--gres=gpu:h100_80gb:1"},
		{"a type that is a feature", func(r *api.SubmitRequest, _ *Site) { r.GPUType = "ib" }, "--gres=gpu:1 --constraint=ib"},
		{"a type that is not there", func(r *api.SubmitRequest, _ *Site) { r.GPUType = "v100" }, `no GPUs of type "v100"; there is a100, h100_80gb`},
		{"a part", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli = 250 },
			"--comment=[.gpus=0.25] --gres=shard:10"},
		{"a part of MPS", func(r *api.SubmitRequest, s *Site) { r.GPUMilli, s.Shards, s.MPS = 300, 0, 100 },
			"--comment=[.gpus=0.3] --gres=mps:30"},
		{"a part where there is none", func(r *api.SubmitRequest, s *Site) { r.GPUMilli, s.Shards = 500, 0 }, "GresTypes=gpu,shard"},
		{"one and a half", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli = 1500 }, "whole GPUs or a part of one there: ask for whole GPUs, or for less than one (-g 1.5)"},
		{"GPU memory", func(r *api.SubmitRequest, _ *Site) { r.GPUMemBytes = 30 << 30 },
			"--comment=[.gpu-mem=32212254720B] --gres=gpu:1 --constraint=gpu_mem_40gb|gpu_mem_80gb"},
		{"GPU memory of a part", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli, r.GPUMemBytes = 500, 30<<30 },
			"--comment=[.gpu-mem=32212254720B&.gpus=0.5] --gres=shard:20 --constraint=gpu_mem_80gb"},
		{"GPU memory in shards", func(r *api.SubmitRequest, s *Site) { r.GPUMilli, r.GPUMemBytes, s.ShardBytes = 500, 30<<30, 1<<30 },
			"--comment=[.gpu-mem=32212254720B&.gpus=0.5] --gres=shard:30"},
		{"GPU memory of a type", func(r *api.SubmitRequest, _ *Site) { r.GPUType, r.GPUMemBytes = "h100", 80<<30 },
			"--comment=[.gpu-mem=85899345920B] --gres=gpu:h100_80gb:1"},
		{"too much GPU memory", func(r *api.SubmitRequest, _ *Site) { r.GPUMemBytes = 100 << 30 }, "their features say gpu_mem_40gb, gpu_mem_80gb"},
		{"GPU memory unknown", func(r *api.SubmitRequest, s *Site) { r.GPUMemBytes, s.Features = 1<<30, nil }, "Feature=gpu_mem_80gb in slurm.conf"},
		{"constraints meet", func(r *api.SubmitRequest, s *Site) { r.GPUMemBytes, s.Options = 30<<30, []string{"--constraint=ib"} },
			"--constraint=ib --comment=[.gpu-mem=32212254720B] --gres=gpu:1 --constraint=(gpu_mem_40gb|gpu_mem_80gb)&ib"},
		{"memory, CPUs, time", func(r *api.SubmitRequest, _ *Site) {
			r.GPUMilli, r.MemBytes, r.CPUs = 0, 32<<30+1, 8
			r.TimeLimit = job.Span(26*time.Hour + 3*time.Second)
		}, "--mem=32769M --cpus-per-task=8 --time=1-02:00:03"},
		{"low", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli, r.Priority.Class = 0, job.Low }, "--comment=[.priority=low] --nice=10000"},
		{"a QOS", func(r *api.SubmitRequest, s *Site) {
			r.GPUMilli, r.Priority.Class, s.QOS = 0, job.High, []string{"normal", "high"}
		}, "--qos=high"},
		{"no QOS", func(r *api.SubmitRequest, _ *Site) { r.Priority.Class = job.High }, "the class high needs a quality of service"},
		{"a low number", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli, r.Priority.Number = 0, -5 }, "--nice=5"},
		{"a high number", func(r *api.SubmitRequest, _ *Site) { r.Priority.Number = 5 }, "only Slurm's administrators"},
		{"a high number of an administrator", func(r *api.SubmitRequest, s *Site) { r.GPUMilli, r.Priority.Number, s.Admin = 0, 5, true }, "--nice=-5"},
		{"preemptible", func(r *api.SubmitRequest, s *Site) { r.GPUMilli, r.Preemptible, s.QOS = 0, true, []string{"scavenger"} }, "--qos=scavenger"},
		{"an array", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli, r.Array = 0, &job.Array{Written: "0-8:4,20%2"} }, "--open-mode=append --array=0-8:4,20%2"},
		{"a sweep", func(r *api.SubmitRequest, _ *Site) {
			r.GPUMilli, r.Array = 0, &job.Array{Written: "%2", Params: []job.Param{{Name: "a", Values: []string{"1", "2"}}}}
		}, "--open-mode=append --array=0-1%2"},
		{"a number that is too high", func(r *api.SubmitRequest, _ *Site) { r.Array = &job.Array{Written: "1-2000"} }, "MaxArraySize in slurm.conf allows at most 1000"},
		{"after", func(r *api.SubmitRequest, _ *Site) {
			r.GPUMilli, r.After = 0, []job.Dependency{{Kind: job.AfterOK, Job: 7}, {Kind: job.AfterOK, Job: 8}, {Kind: job.AfterAny, Job: 9},
				{Kind: job.AfterStart, Job: 1}, {Kind: job.AfterFail, Job: 2}}
		}, "--dependency=afterok:7:8,afterany:9,after:1,afternotok:2 --kill-on-invalid-dep=yes"},
		{"a singleton", func(r *api.SubmitRequest, _ *Site) {
			r.GPUMilli, r.Lane, r.After = 0, "train=1", []job.Dependency{{Kind: job.AfterOK, Job: 7}}
		}, "--dependency=afterok:7,singleton --kill-on-invalid-dep=yes"},
		{"begin and hold", func(r *api.SubmitRequest, _ *Site) {
			r.GPUMilli, r.Begin, r.Hold = 0, time.Unix(1_800_000_000, 0), true
		}, "--begin=uts1800000000 --hold"},
		{"requeue", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli, r.Requeue = 0, yes(true) }, "--open-mode=append --requeue"},
		{"no requeue", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli, r.Requeue = 0, yes(false) }, "--open-mode=append --no-requeue"},
		{"retries", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli, r.Retries = 0, 3 }, "--comment=[.retries=3] --open-mode=append --requeue"},
		{"signal", func(r *api.SubmitRequest, _ *Site) {
			r.GPUMilli, r.TimeLimit = 0, job.Span(time.Hour)
			r.WarnSignal, r.WarnBefore = 10, job.Span(90*time.Second)
		}, "--time=0-01:00:00 --signal=B:10@90"},
		{"comment and tags", func(r *api.SubmitRequest, _ *Site) {
			r.GPUMilli, r.Comment, r.Tags = 0, "second try", map[string]string{"project": "a b&c", ".x": ""}
		}, "--comment=second try [..x=&project=a+b%26c]"},
		{"a log", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli, r.Log = 0, contract.Log{Path: "out/%n-%j%%.txt"} },
			"--comment=[.log=%2Fwork%2Fout%2Ftrain-%25j%25%25.txt] --open-mode=append --output=/work/out/train-%j%%.txt"},
		{"a log of tasks", func(r *api.SubmitRequest, _ *Site) {
			r.GPUMilli, r.Log, r.Array = 0, contract.Log{Path: "~/%A-%a-%j", Truncate: true}, &job.Array{Written: "1"}
		}, "--comment=[.log=%2Fhome%2Falice%2F%25A-%25a-%25A_%25a] --open-mode=truncate --output=/home/alice/%A-%a-%A_%a --array=1"},
		{"a log with a backslash", func(r *api.SubmitRequest, _ *Site) { r.Log.Path = `a\b` }, "backslash"},
		{"mail", func(r *api.SubmitRequest, _ *Site) {
			r.GPUMilli = 0
			r.Notify = []job.Notify{{On: []job.NotifyEvent{job.NotifyStart, job.NotifyFail}, Way: job.NotifyMail, To: "a@b.org"}}
		}, "--mail-type=BEGIN,FAIL --mail-user=a@b.org"},
		{"a webhook", func(r *api.SubmitRequest, _ *Site) {
			r.Notify = []job.Notify{{On: []job.NotifyEvent{job.NotifyEnd}, Way: job.NotifyWebhook, Webhook: "x"}}
		}, "Slurm sends mail only: use --notify mail:end"},
		{"dry run", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli, r.DryRun = 0, true }, "--test-only"},
		{"options of the site", func(r *api.SubmitRequest, s *Site) { r.GPUMilli, s.Options = 0, []string{"--partition=gpu"} }, "--partition=gpu"},
		{"GPUs by number", func(r *api.SubmitRequest, _ *Site) { r.GPUIDs = []int{0} }, "Slurm chooses the GPUs"},
		{"all at once", func(r *api.SubmitRequest, _ *Site) { r.MaxLoadPercent, r.Dedup = 30, "abc" }, "leave them out (--max-load, --max-used); it works only on"},
		{"a terminal", func(r *api.SubmitRequest, _ *Site) { r.TTY = true }, "gpusched run --tty"},
		{"what the daemon refuses, too", func(r *api.SubmitRequest, _ *Site) { r.CPUs = -1 }, "CPUs"},
		{"grace of the site", func(r *api.SubmitRequest, _ *Site) { r.GPUMilli, r.Grace = 0, span(30*time.Second) }, ""},
	} {
		r, s := request("ls"), site
		tt.ask(&r, &s)
		sub, err := Command(r, s)
		got := strings.Join(sub.Args, " ")
		if err != nil {
			if got = err.Error(); !strings.Contains(got, tt.want) || tt.want == "" {
				t.Errorf("%s: %s, not %q", tt.name, got, tt.want)
			}
			continue
		}
		rest := " " + got + " "
		for _, word := range append(strings.Fields(always), "--open-mode=append") {
			if !strings.Contains(tt.want, word) {
				rest = strings.Replace(rest, " "+word+" ", " ", 1)
			}
		}
		if strings.TrimSpace(rest) != tt.want {
			t.Errorf("%s: %q, not %q", tt.name, strings.TrimSpace(rest), tt.want)
		}
	}
}

// If package slurm reads the arguments for sbatch,
// it gets the same request. Both use the same table.
func TestWhatIsWrittenIsRead(t *testing.T) {
	r := request("ls")
	r.Request = job.Request{GPUMilli: 2000, GPUType: "a100", MemBytes: 32<<30 + 1, CPUs: 8, TimeLimit: job.Span(26*time.Hour + 3*time.Second),
		Priority: job.Priority{Number: -5}, Hold: true, WarnSignal: 10, WarnBefore: job.Span(90 * time.Second)}
	r.After = []job.Dependency{{Kind: job.AfterStart, Job: 7}, {Kind: job.AfterOK, Job: 8}, {Kind: job.AfterFail, Job: 9}, {Kind: job.AfterAny, Job: 10}}
	r.Array, r.Requeue, r.Comment = &job.Array{Written: "0-8:4%2"}, yes(true), "mine"
	r.Notify = []job.Notify{{On: []job.NotifyEvent{job.NotifyStart, job.NotifyEnd, job.NotifyFail}, Way: job.NotifyMail, To: "a@b.org"}}
	r.Log = contract.Log{Path: "/out/%A-%a", Truncate: true}
	sub, err := Command(r, site)
	if err != nil {
		t.Fatal(err)
	}
	var b slurm.Batch
	if err := b.Add(sub.Args); err != nil {
		t.Fatalf("%q: %v", sub.Args, err)
	}
	words, err := b.Words()
	const want = "--name=train --chdir=/work --env=inherit --comment=mine [.log=%2Fout%2F%25A-%25a] --mem=34360786944B --time=93603s " +
		"--priority=-5 --hold --after=7 --after-ok=8 --after-fail=9 --after-any=10 --signal=main:10@90s --array=0-8:4%2 --requeue " +
		"--log=/out/%A-%a --log-truncate --notify=start,end,fail --notify-to=a@b.org --set-env=GPUSCHED_TASKS=1 --set-env=SLURM_OPEN_MODE=t " +
		"--cpus=8 --gpus=2 --gpu-type=a100"
	if got := strings.Join(words, " "); err != nil || got != want {
		t.Errorf("%v\n%s, want\n%s", err, got, want)
	}
}

// The notes mention options that have another meaning on Slurm.
func TestNotes(t *testing.T) {
	r := request("ls")
	grace := job.Span(time.Minute)
	r.GPUMilli, r.Grace = 500, &grace
	r.Spread, r.Preemptible = true, true
	sub, err := Command(r, site)
	if text := strings.Join(sub.Notes, "\n"); err != nil || !strings.Contains(text, "(KillWait in slurm.conf), which is 30s") || !strings.Contains(text, "--spread") ||
		!strings.Contains(text, "--preemptible") {
		t.Errorf("%q (%v)", text, err)
	}
}

// Data that was written into a comment can be read back. Any other comment is plain text.
func TestComment(t *testing.T) {
	for _, s := range []CommentData{
		{}, {Comment: "x"}, {Comment: "x]"}, {Comment: "[a=b]"}, {Comment: "x [", Tags: map[string]string{"a": "[1]", "": "x"}},
		{Tags: map[string]string{"a b": "c&d=e", ".log": "x", "..": ""}}, {Log: "/a b/%j", GPUMilli: 250, GPUMem: 20 << 30, Retries: 3},
		{Comment: "ünï", Priority: job.Priority{Class: job.Low}}, {Priority: job.Priority{Number: -3}},
	} {
		delete(s.Tags, "")
		got := ParseComment(s.String())
		if got.String() != s.String() || got.Comment != s.Comment || got.Log != s.Log || got.GPUMem != s.GPUMem || len(got.Tags) != len(s.Tags) {
			t.Errorf("%+v is %q is %+v", s, s.String(), got)
		}
		for k, v := range s.Tags {
			if got.Tags[k] != v {
				t.Errorf("%q: tag %q is %q", s.String(), k, got.Tags[k])
			}
		}
	}
	for _, text := range []string{"fix [see #3]", "[x", "a]", "[.new=1]", "[b=1&a=2]", "x [a=%zz]", "[]"} {
		if got := ParseComment(text); got.Comment != text && got.String() != text {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// scontrol prints a space after a comment.
func TestCommentOfScontrol(t *testing.T) {
	if got := ParseComment("x [a=b] "); got.Comment != "x" || got.Tags["a"] != "b" {
		t.Errorf("%+v", got)
	}
}

// sbatch gets the variables that it needs to find Slurm, but no variable that is an option.
func TestEnviron(t *testing.T) {
	in := []string{"HOME=/h", "PATH=/p", "A=1", "SBATCH_ACCOUNT=lab", "SLURM_CONF=/c", "SLURM_JOB_ID=1", "LD_PRELOAD=x", "SRUN_X=1", "LC_ALL=C", "XHOME=/",
		"SBATCH_WAIT=1", "SBATCH_ARRAY_INX=0-99", "SLURM_CLUSTERS=b", "SBATCH_CLUSTERS=b"}
	if got := strings.Join(Environ(in), " "); got != "HOME=/h PATH=/p SLURM_CONF=/c" {
		t.Error(got)
	}
}

func FuzzSaid(f *testing.F) {
	f.Add("x [a=b&.log=%2Fx]", "k", "v")
	f.Fuzz(func(t *testing.T, comment, key, value string) {
		comment = strings.TrimRight(comment, " ")
		s := ParseComment(comment)
		if s.Comment != comment && s.String() != comment {
			t.Fatalf("%q is %+v", comment, s)
		}
		if key == "" {
			return
		}
		s = CommentData{Comment: comment, Tags: map[string]string{key: value}}
		if got := ParseComment(s.String()); got.Comment != comment || got.Tags[key] != value || len(got.Tags) != 1 {
			t.Fatalf("%+v is %q is %+v", s, s.String(), got)
		}
	})
}

func TestMemoryInNames(t *testing.T) {
	for name, want := range map[string]int64{
		"gpu_mem_80gb": 80, "GPU_MEM:80GB": 80, "vram48": 48, "gmem24g": 24, "gpu80": 80, "gpumem11": 11, "gpu80g": 80,
		"gpu2": 0, "gpu": 0, "a100": 0, "gpu_mem": 0, "vram": 0, "gpu2080": 0, "gpu_mem_xg": 0, "h100": 0, "vram0": 0, "vram-4": 4,
	} {
		if got, ok := FeatureMem(name); got != want<<30 || ok != (want > 0) {
			t.Errorf("%s: %d %v, not %d", name, got>>30, ok, want)
		}
	}
	for name, want := range map[string]int64{"a100_80gb": 80, "a100-sxm4-40gb": 40, "a100": 0, "1g.5gb": 1, "h100": 0, "80": 0} {
		if got, ok := TypeMem(name); got != want<<30 || ok != (want > 0) {
			t.Errorf("%s: %d %v, not %d", name, got>>30, ok, want)
		}
	}
}

func TestVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"slurm 22.05.8": {22, 5}, "slurm-wlm 22.05.8": {22, 5}, "24.11.5": {24, 11}, "slurm 25.05.0-0rc1": {25, 5}, "x": {},
	} {
		if got, ok := ParseVersion(text); got != want || ok != (want != Version{}) {
			t.Errorf("%q: %v %v", text, got, ok)
		}
	}
	if v := (Version{23, 11}); !v.Since(23, 11) || !v.Since(22, 12) || v.Since(24, 1) || v.Since(23, 12) || v.String() != "23.11" {
		t.Error(v)
	}
}

// Each change becomes the expected arguments of scontrol.
func TestUpdate(t *testing.T) {
	text, zero, n, limit := "new", time.Time{}, 3, job.Span(90*time.Minute)
	gpus, mem, half, low := 2000, int64(1<<30), 500, job.Priority{Class: job.Low}
	none := []job.Dependency{}
	for _, tt := range []struct {
		c    job.Change
		want string
	}{
		{job.Change{GPUMilli: &gpus}, "TresPerNode=gres:gpu:2"},
		{job.Change{GPUMilli: &half}, "error: the part of a GPU that a job has"},
		{job.Change{MemBytes: &mem, CPUs: &n}, "MinMemoryNode=1024 NumCPUs=3 CPUsPerTask=3"},
		{job.Change{TimeLimit: &limit}, "TimeLimit=0-01:30:00"},
		{job.Change{Priority: &low}, "Nice=10000 Comment=old [.priority=low&a=b]"},
		{job.Change{Begin: &zero, After: &none}, "StartTime=now Dependency="},
		{job.Change{ArrayLimit: &n, Name: &text, Comment: &text}, "ArrayTaskThrottle=3 JobName=new Comment=new [a=b]"},
		{job.Change{Retries: &n}, "error: a job's script"},
		{job.Change{}, "error: "},
	} {
		words, err := Update("42", tt.c, Current{Comment: CommentData{Comment: "old", Tags: map[string]string{"a": "b"}}}, site)
		got := strings.TrimPrefix(strings.Join(words, " "), "update JobId=42 ")
		if err != nil {
			got = "error: " + strings.TrimPrefix(err.Error(), "on Slurm: ")
		}
		if !strings.HasPrefix(got, tt.want) || err == nil && got != tt.want {
			t.Errorf("%q, not %q", got, tt.want)
		}
	}
	normal, high, classes := job.Priority{}, job.Priority{Class: job.High}, Site{QOS: []string{"high"}}
	for _, tt := range []struct {
		c    job.Change
		now  Current
		want string
	}{
		{job.Change{GPUMilli: &gpus}, Current{GPUType: "a100"}, "TresPerNode=gres:gpu:a100:2"},
		{job.Change{Priority: &normal}, Current{QOS: "high"}, "QOS= Nice=0 Comment="},
		{job.Change{Priority: &normal}, Current{QOS: "high", DefaultQOS: "long"}, "QOS=long Nice=0 Comment="},
		{job.Change{Priority: &normal}, Current{QOS: "lab"}, "Nice=0 Comment="},
		{job.Change{Priority: &low}, Current{QOS: "high"}, "QOS= Nice=10000 Comment=[.priority=low]"},
		{job.Change{Priority: &high}, Current{Comment: CommentData{Priority: low}}, "QOS=high Nice=0 Comment="},
	} {
		words, err := Update("42", tt.c, tt.now, classes)
		if got := strings.TrimPrefix(strings.Join(words, " "), "update JobId=42 "); err != nil || got != tt.want {
			t.Errorf("%+v: %q, not %q: %v", tt.now, got, tt.want, err)
		}
	}
	late := Site{Version: Version{24, 11}}
	if words, err := Update("1", job.Change{GPUMilli: &gpus}, Current{}, late); err != nil || words[2] != "TresPerNode=gres/gpu:2" {
		t.Errorf("%q %v", words, err)
	}
}

// The directory of a log ends before the first part of the path that depends on the job.
func TestLogDir(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "none": "", "x.txt": "/work", "logs/%j.txt": "/work/logs", "a/b-%n/c-%j/x": "/work/a/b-train", "/a%%b/c.txt": "/a%b", "~/l/x": "/home/alice/l",
		"%j": "/work", "a/%%": "/work/a", "%u/x": "/work",
	} {
		r := request("ls")
		r.Log.Path = path
		sub, err := Command(r, site)
		if err != nil || sub.LogDir != want {
			t.Errorf("%s: %q (%v), not %q", path, sub.LogDir, err, want)
		}
	}
}
