package main

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Invariant 7: numbers, single values instead of lists, and other spellings are accepted.
func TestLooseArgumentsAreAccepted(t *testing.T) {
	b := queue()
	s := connect(t, b, "--write")
	for _, tt := range []struct {
		name, tool string
		in         args
		want       string
	}{
		{"a number for a job", "show", args{"id": 1}, `"name":"train"`},
		{"a number in a list", "hold", args{"ids": []int{2}}, `"jobs"`},
		{"a number for a list", "release", args{"ids": 2}, `"jobs"`},
		{"a job by another word", "show", args{"job": 1}, `"name":"train"`},
		{"jobs by another word", "hold", args{"job_ids": []int{2}}, `"jobs"`},
		{"one of a list by another word", "release", args{"id": 2}, `"jobs"`},
		{"a state", "list", args{"state": "running"}, `"name":"train"`},
		{"a text for a number", "list", args{"limit": "1", "mine": "true", "name": nil}, `"name":"train"`},
		{"a float for an integer", "list", args{"limit": 1.0, "user": nil}, `"jobs"`},
		{"a text for hours", "history", args{"hours": "1e6", "state": "completed,failed"}, `"jobs"`},
		{"numbers for options", "update", args{"id": 2, "options": args{"gpus": 0.5, "cpus": 2.0, "gpu_mem": "4G"}}, `"gpu_milli":500`},
		{"options in a text", "update", args{"id": "2", "options": `{"time":"2h","preemptible":"false"}`}, `"time_limit_seconds":7200`},
		{"a single program", "dry_run", args{"command": "true", "directory": "/", "after-ok": 1}, `"after":[{"job":1`},
		{"a text for a list", "cancel", args{"ids": "2, 99"}, "no job 99"},
		{"a list in a text", "cancel", args{"ids": `["99","1"]`}, "no job 99"},
	} {
		if text, failed := call(t, s, tt.tool, tt.in); failed || !strings.Contains(text, tt.want) {
			t.Errorf("%s: failed %t, %s, want %s", tt.name, failed, text, tt.want)
		}
	}
	if text, _ := call(t, s, "list", args{}); strings.Contains(text, `"gpus":null`) {
		t.Errorf("the list has no GPUs, and says %s", text)
	}
	if text, failed := call(t, s, "submit", args{"command": []string{"true"}, "directory": "/", "options": args{"gpu-ids": []int{0, 2}, "name": 7}}); failed {
		t.Fatal(text)
	}
	if got := b.Submissions()[len(b.Submissions())-1]; len(got.Request.GPUIDs) != 2 || got.Label.Name != "7" {
		t.Errorf("queued %+v", got.Request)
	}
}

// Invariant 7: one refusal names all arguments that cannot be accepted, and where each belongs.
func TestMisplacedArgumentsAreRefused(t *testing.T) {
	s := connect(t, queue(), "--write")
	for _, tt := range []struct {
		tool string
		in   any
		want string
	}{
		{"submit", args{"command": []string{"true"}, "directory": "/", "gpus": 1},
			`gpus belongs in options: {"options": {"gpus": 1}}`},
		{"submit", args{"command": []string{"true"}, "directory": "/", "gpu_mem": "20G"},
			`gpu-mem belongs in options: {"options": {"gpu-mem": "20G"}}`},
		{"submit", args{"command": "true", "options": args{"directory": "/", "gpuz": 1, "gpus": args{}}},
			"directory belongs beside options, not inside options; gpus must be a single text, not {}; there is no argument gpuz in options: did you mean gpus?; " +
				"directory is missing: the directory to run the job in, an absolute path"},
		{"submit", args{"command": "python train.py", "directory": "/"},
			`command must be a list with one word per element, such as ["python", "train.py"], because no shell reads it; ` +
				`to run a shell command use ["sh", "-c", LINE]; it was "python train.py"`},
		{"dry_run", args{"command": []string{"true"}, "directory": "/", "options": 5}, `options must be an object, such as {"gpus": 1}, not 5`},
		{"dry_run", args{"command": []string{"true"}, "directory": "/", "options": args{"hold": 1}}, "hold must be true or false, not 1"},
		{"dry_run", args{"command": []any{"a", []string{"b"}}, "directory": "/"}, `command must be a single text, not ["b"]`},
		{"cancel", args{"number": 1}, "there is no argument number; cancel takes ids; ids is missing: the jobs: numbers such as 12, or tasks of an array such as 7_3"},
		{"logs", args{"id": 1, "lines": "all"}, `lines must be a whole number, not "all"`},
		{"logs", args{"id": 1, "line": 5}, "there is no argument line: did you mean lines?"},
		{"history", args{"hours": "a day"}, `hours must be a number, not "a day"`},
		{"status", args{"verbose": true}, "there is no argument verbose; status takes no arguments"},
		{"status", []int{1}, "the arguments of status must be an object: status takes no arguments"},
		{"update", args{"id": 2, "gpu-mem": "4G", "gpu_mem": 1},
			`gpu-mem belongs in options: {"options": {"gpu-mem": "4G"}}; gpu-mem belongs in options: {"options": {"gpu-mem": 1}}; ` +
				"options is missing: " + optionsText},
		{"update", args{"id": 2, "options": args{"gpu-mem": "4G", "gpu_mem": 1}}, "gpu-mem is given twice"},
	} {
		if text, failed := call(t, s, tt.tool, tt.in); !failed || text != tt.want {
			t.Errorf("%s %v: failed %t\n got %s\nwant %s", tt.tool, tt.in, failed, text, tt.want)
		}
	}
}

// A dry run and a submission answer with the sentences that gpusched prints for people.
func TestSentences(t *testing.T) {
	b := queue()
	s := connect(t, b, "--write")
	in := args{"command": "true", "directory": "/", "options": args{"gpus": 1}}
	b.Reasons = []job.Reason{{Code: job.ReasonGPUBusy, GPU: 0, Job: 1}}
	for tool, want := range map[string]string{"dry_run": `"sentence":"the job would wait: `, "submit": `"sentence":"job 5 queued: `} {
		if text, failed := call(t, s, tool, in); failed || !strings.Contains(text, want) {
			t.Errorf("%s: failed %t, %s", tool, failed, text)
		}
	}
	b = queue()
	b.Place = []job.Allocation{{GPU: contract.GPU{UUID: "GPU-b", Index: 1, Milli: 1000}}}
	s = connect(t, b, "--write")
	for tool, want := range map[string]string{
		"dry_run": `"sentence":"the job would start now on GPU 1"`, "submit": `"sentence":"job 5 queued, starts on GPU 1"`,
	} {
		if text, failed := call(t, s, tool, in); failed || !strings.Contains(text, want) {
			t.Errorf("%s: failed %t, %s", tool, failed, text)
		}
	}
}

// wait returns when all jobs have ended or its time
// limit has passed. It says what each job is doing.
func TestWait(t *testing.T) {
	b := queue()
	s := connect(t, b)
	for _, tt := range []struct {
		in   args
		want []string
	}{
		{args{"ids": 4}, []string{`"ended":true`, `"says":["job 4 `}},
		{args{"ids": []int{1, 2}, "seconds": 0.01}, []string{
			`"ended":false`, `"job 1 is running"`, `"job 2 waits: `, "held by job 1", "not all jobs have ended after 10ms: call wait again"}},
	} {
		text, failed := call(t, s, "wait", tt.in)
		for _, want := range tt.want {
			if failed || !strings.Contains(text, want) {
				t.Errorf("%v: failed %t, %s, want %s", tt.in, failed, text, want)
			}
		}
	}
	for in, want := range map[string]string{"99": "no job 99", "": "ids is missing", "--help": "is not a job"} {
		if text, failed := call(t, s, "wait", args{"ids": in}); !failed || !strings.Contains(text, want) {
			t.Errorf("%q: failed %t, %s", in, failed, text)
		}
	}
	go b.End(1, job.Result{Outcome: job.Completed})
	if text, failed := call(t, s, "wait", args{"ids": 1, "seconds": 600}); failed || !strings.Contains(text, `"ended":true`) {
		t.Errorf("one that ends meanwhile: failed %t, %s", failed, text)
	}
}
