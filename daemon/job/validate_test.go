package job

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// validSubmission returns a submission without faults.
func validSubmission() Submission {
	return Submission{
		Label:   Label{Name: "train"},
		Request: Request{GPUMilli: 1000},
		Payload: Payload{Program: contract.Program{Argv: []string{"python", "train.py"}, EnvMode: contract.EnvInherit, Env: []string{"A=1"}, Dir: "/home/alice", Umask: 0o22}},
	}
}

func manyTags(n int) map[string]string {
	tags := map[string]string{}
	for i := range n {
		tags[fmt.Sprint("k", i)] = "v"
	}
	return tags
}

func manyDependencies(n int) []Dependency { return slices.Repeat([]Dependency{{AfterOK, 1}}, n) }

func spanTo(d time.Duration) *Span { return new(Span(d)) }

// A value at a limit is valid.
func TestValidateAcceptsTheLimits(t *testing.T) {
	for name, change := range map[string]func(s *Submission){
		"nothing more":    func(*Submission) {},
		"longest key":     func(s *Submission) { s.Key = strings.Repeat("k", MaxKeyBytes) },
		"longest name":    func(s *Submission) { s.Label.Name = strings.Repeat("n", MaxNameBytes) },
		"longest comment": func(s *Submission) { s.Label.Comment = strings.Repeat("c", MaxCommentBytes) },
		"most tags":       func(s *Submission) { s.Label.Tags = manyTags(MaxTags) },
		"longest tag":     func(s *Submission) { s.Label.Tags = map[string]string{"k": strings.Repeat("v", MaxNameBytes-1)} },
		"tag of no value": func(s *Submission) { s.Label.Tags = map[string]string{"k": ""} },
		"no GPU":          func(s *Submission) { s.Request = Request{} },
		"most GPUs":       func(s *Submission) { s.Request.GPUMilli = MaxGPUs * WholeGPU },
		"exact GPUs":      func(s *Submission) { s.Request.GPUMilli, s.Request.GPUIDs = 2000, []int{0, MaxGPUs - 1} },
		"some of":         func(s *Submission) { s.Request.GPUsFrom = []int{1, 3} },
		"others than":     func(s *Submission) { s.Request.GPUsFrom, s.Request.ExcludeGPUs = []int{1, 3}, []int{3} },
		"all of":          func(s *Submission) { s.Request.GPUMilli, s.Request.GPUsFrom = 2000, []int{1, 3} },
		"longest type":    func(s *Submission) { s.Request.GPUType = strings.Repeat("a", MaxNameBytes) },
		"largest sizes":   func(s *Submission) { s.Request.MemBytes, s.Request.GPUMemBytes = MaxSize, MaxSize },
		"most CPUs":       func(s *Submission) { s.Request.CPUs = 8192 },
		"longest times": func(s *Submission) {
			s.Request.TimeLimit, s.Request.Grace = Span(MaxDuration), spanTo(MaxDuration)
		},
		"no grace":        func(s *Submission) { s.Request.Grace = spanTo(0) },
		"highest class":   func(s *Submission) { s.Request.Priority.Class = Interactive },
		"lowest class":    func(s *Submission) { s.Request.Priority.Class = Scavenger },
		"highest number":  func(s *Submission) { s.Request.Priority.Number = maxPriority },
		"lowest number":   func(s *Submission) { s.Request.Priority.Number = -maxPriority },
		"by uuid":         func(s *Submission) { s.Request.GPUVisible = "uuid" },
		"longest arg":     func(s *Submission) { s.Payload.Argv = append(s.Payload.Argv, strings.Repeat("a", MaxArgBytes)) },
		"private control": func(s *Submission) { s.Payload.Argv = append(s.Payload.Argv, "\x1b\n\xff", "") },
		"largest payload": func(s *Submission) { s.Payload.Argv, s.Payload.Env = fill(MaxPayloadBytes), nil },
		"no environment":  func(s *Submission) { s.Payload.Env = nil },
		"empty variable":  func(s *Submission) { s.Payload.Env = []string{"A="} },
		"longest dir":     func(s *Submission) { s.Payload.Dir = "/" + strings.Repeat("d", 4095) },
		"umask":           func(s *Submission) { s.Payload.Umask = 0o777 },
		"all thresholds":  func(s *Submission) { s.Request.MaxLoadPercent, s.Request.MaxUsedPercent = 100, 100 },
		"killed in time":  func(s *Submission) { s.Request.OnTimeout = TimeoutKill },
		"sent back":       func(s *Submission) { s.Request.OnTimeout = TimeoutRequeue },
		"earliest warning": func(s *Submission) {
			s.Request.WarnSignal, s.Request.WarnBefore = contract.MaxSignal, Span(MaxDuration)
			s.Request.WarnMain, s.Request.SignalTo = true, SignalMain
		},
		"warned at once": func(s *Submission) {
			s.Request.WarnSignal, s.Request.WarnBefore, s.Request.TimeLimit = 1, Span(time.Hour-1), Span(time.Hour)
		},
		"most retries": func(s *Submission) { s.Request.Retries, s.Request.Backoff = MaxRetries, Span(MaxBackoff) },
		"a batch": func(s *Submission) {
			s.Request.Objective, s.Request.Batch = Makespan, strings.Repeat("b", MaxNameBytes)
		},
		"an array as batch": func(s *Submission) {
			s.Request.Objective, s.Request.Array = Makespan, &Array{Ranges: []Range{{0, 1, 1}}}
		},
		"longest hash":      func(s *Submission) { s.Request.Dedup = strings.Repeat("h", MaxKeyBytes) },
		"most dependencies": func(s *Submission) { s.Request.After = manyDependencies(MaxDependencies) },
	} {
		s := validSubmission()
		change(&s)
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fill returns arguments that take n bytes in all, including terminators.
func fill(n int) []string {
	var list []string
	for n > 0 {
		size := min(n, MaxArgBytes)
		list = append(list, strings.Repeat("a", size-1))
		n -= size
	}
	return list
}

// A value just above a limit causes exactly one problem.
func TestValidateRefusesBeyondTheLimits(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(s *Submission)
	}{
		{"long key", "usage/key 64", func(s *Submission) { s.Key = strings.Repeat("k", MaxKeyBytes+1) }},
		{"control in key", "usage/key 64", func(s *Submission) { s.Key = "\x1b" }},
		{"no name", "usage/name 128", func(s *Submission) { s.Label.Name = "" }},
		{"long name", "usage/name 128", func(s *Submission) { s.Label.Name = strings.Repeat("n", MaxNameBytes+1) }},
		{"control in name", "usage/name 128", func(s *Submission) { s.Label.Name = "a\nb" }},
		{"long comment", "usage/comment 1024", func(s *Submission) { s.Label.Comment = strings.Repeat("c", MaxCommentBytes+1) }},
		{"bidi in comment", "usage/comment 1024", func(s *Submission) { s.Label.Comment = "\u202e" }},
		{"tags", "usage/tags 17 16", func(s *Submission) { s.Label.Tags = manyTags(MaxTags + 1) }},
		{"tag without key", "usage/tag 128", func(s *Submission) { s.Label.Tags = map[string]string{"": "v"} }},
		{"long tag", "usage/tag 128", func(s *Submission) { s.Label.Tags = map[string]string{"k": strings.Repeat("v", MaxNameBytes)} }},
		{"zero-width tags", "usage/tag 128", func(s *Submission) { s.Label.Tags = map[string]string{"a\u200b": "v", "b": "\u200b"} }},
		{"GPUs below 0", "usage/gpus 1024", func(s *Submission) { s.Request.GPUMilli = -1000 }},
		{"too many GPUs", "usage/gpus 1024", func(s *Submission) { s.Request.GPUMilli = MaxGPUs*WholeGPU + WholeGPU }},
		{"thousandths", "usage/gpus 1024", func(s *Submission) { s.Request.GPUMilli = 1005 }},
		{"ids and amount", "usage/gpu-ids-count 2 1", func(s *Submission) { s.Request.GPUIDs = []int{0, 1} }},
		{"too few to choose", "usage/gpus-from-count 1 2", func(s *Submission) { s.Request.GPUMilli, s.Request.GPUsFrom = 2000, []int{0} }},
		{"ids and from", "usage/ids-and-from", func(s *Submission) { s.Request.GPUIDs, s.Request.GPUsFrom = []int{0}, []int{0, 1} }},
		{"ids and others", "usage/ids-and-exclude", func(s *Submission) { s.Request.GPUIDs, s.Request.ExcludeGPUs = []int{0}, []int{1} }},
		{"others not in order", "usage/gpu-list 1024", func(s *Submission) { s.Request.ExcludeGPUs = []int{1, 0} }},
		{"no GPU but some", "usage/no-gpus", func(s *Submission) { s.Request = Request{ExcludeGPUs: []int{0}} }},
		{"ids not in order", "usage/gpu-list 1024", func(s *Submission) { s.Request.GPUMilli, s.Request.GPUIDs = 2000, []int{1, 0} }},
		{"id twice", "usage/gpu-list 1024", func(s *Submission) { s.Request.GPUMilli, s.Request.GPUIDs = 2000, []int{1, 1} }},
		{"id below 0", "usage/gpu-list 1024", func(s *Submission) { s.Request.GPUIDs = []int{-1} }},
		{"id too high", "usage/gpu-list 1024", func(s *Submission) { s.Request.GPUsFrom = []int{MaxGPUs} }},
		{"no GPU of a type", "usage/no-gpus", func(s *Submission) { s.Request = Request{GPUType: "a100"} }},
		{"no GPU with memory", "usage/no-gpus", func(s *Submission) { s.Request = Request{GPUMemBytes: 1} }},
		{"no GPU out of some", "usage/no-gpus", func(s *Submission) { s.Request = Request{GPUsFrom: []int{0}} }},
		{"long type", "usage/gpu-type", func(s *Submission) { s.Request.GPUType = strings.Repeat("a", MaxNameBytes+1) }},
		{"control in type", "usage/gpu-type", func(s *Submission) { s.Request.GPUType = "\x07" }},
		{"memory below 0", "usage/size", func(s *Submission) { s.Request.MemBytes = -1 }},
		{"too much memory", "usage/size", func(s *Submission) { s.Request.MemBytes = MaxSize + 1 }},
		{"GPU memory below 0", "usage/size", func(s *Submission) { s.Request.GPUMemBytes = -2 }},
		{"too much GPU memory", "usage/size", func(s *Submission) { s.Request.GPUMemBytes = MaxSize + 1 }},
		{"CPUs below 0", "usage/cpus 8192", func(s *Submission) { s.Request.CPUs = -1 }},
		{"too many CPUs", "usage/cpus 8192", func(s *Submission) { s.Request.CPUs = 8193 }},
		{"time below 0", "usage/duration", func(s *Submission) { s.Request.TimeLimit = -1 }},
		{"long time", "usage/duration", func(s *Submission) { s.Request.TimeLimit = Span(MaxDuration) + 1 }},
		{"grace below 0", "usage/grace-negative", func(s *Submission) { s.Request.Grace = spanTo(-1) }},
		{"long grace", "usage/grace", func(s *Submission) { s.Request.Grace = spanTo(MaxDuration + 1) }},
		{"class above", "usage/priority 1000000", func(s *Submission) { s.Request.Priority.Class = Interactive + 1 }},
		{"class below", "usage/priority 1000000", func(s *Submission) { s.Request.Priority.Class = Scavenger - 1 }},
		{"a number in a class", "usage/priority 1000000", func(s *Submission) { s.Request.Priority = Priority{Class: Low, Number: -1} }},
		{"number above", "usage/priority 1000000", func(s *Submission) { s.Request.Priority.Number = maxPriority + 1 }},
		{"number below", "usage/priority 1000000", func(s *Submission) { s.Request.Priority.Number = -maxPriority - 1 }},
		{"by name", "usage/gpu-visible name", func(s *Submission) { s.Request.GPUVisible = "name" }},
		{"long arg", "usage/arg-bytes 131072 131071", func(s *Submission) { s.Payload.Argv[1] = strings.Repeat("a", MaxArgBytes+1) }},
		{"NUL in arg", "usage/arg-nul", func(s *Submission) { s.Payload.Argv[1] = "a\x00" }},
		{"NUL in variable", "usage/arg-nul", func(s *Submission) { s.Payload.Env = []string{"A=\x00"} }},
		{"large payload", "usage/payload-bytes 2097153 2097152", func(s *Submission) { s.Payload.Argv, s.Payload.Env = fill(MaxPayloadBytes+1), nil }},
		{"no command", "usage/no-command", func(s *Submission) { s.Payload.Argv = nil }},
		{"empty command", "usage/no-command", func(s *Submission) { s.Payload.Argv[0] = "" }},
		{"no variable", "usage/env-entry", func(s *Submission) { s.Payload.Env = []string{"A", "B"} }},
		{"variable without name", "usage/env-entry", func(s *Submission) { s.Payload.Env = []string{"=1"} }},
		{"relative dir", "usage/chdir", func(s *Submission) { s.Payload.Dir = "work" }},
		{"no dir", "usage/chdir", func(s *Submission) { s.Payload.Dir = "" }},
		{"long dir", "usage/chdir", func(s *Submission) { s.Payload.Dir = "/" + strings.Repeat("d", 4096) }},
		{"NUL in dir", "usage/chdir", func(s *Submission) { s.Payload.Dir = "/\x00" }},
		{"snapshot elsewhere", "usage/snapshot", func(s *Submission) { s.Payload.Snapshot = contract.Snapshot{Dir: "/home/me", Source: "/home/me/p"} }},
		{"umask below 0", "usage/umask", func(s *Submission) { s.Payload.Umask = -1 }},
		{"large umask", "usage/umask", func(s *Submission) { s.Payload.Umask = 0o1000 }},
		{"load above all", "usage/threshold", func(s *Submission) { s.Request.MaxLoadPercent = 101 }},
		{"load below 0", "usage/threshold", func(s *Submission) { s.Request.MaxLoadPercent = -1 }},
		{"used above all", "usage/threshold", func(s *Submission) { s.Request.MaxUsedPercent = 101 }},
		{"used below 0", "usage/threshold", func(s *Submission) { s.Request.MaxUsedPercent = -1 }},
		{"end of no kind", "usage/on-timeout stop", func(s *Submission) { s.Request.OnTimeout = "stop" }},
		{"warning without time", "usage/warning", func(s *Submission) { s.Request.WarnSignal = 10 }},
		{"warning without signal", "usage/warning", func(s *Submission) { s.Request.WarnBefore = Span(time.Minute) }},
		{"warning of no signal to main", "usage/warning", func(s *Submission) { s.Request.WarnMain = true }},
		{"signals to some", "usage/signal-to some", func(s *Submission) { s.Request.SignalTo = "some" }},
		{"signals to main, with a log", "usage/signal-to-log", func(s *Submission) { s.Request.SignalTo, s.Payload.Log.Path = SignalMain, "/l" }},
		{"signal too high", "usage/warning", func(s *Submission) { s.Request.WarnSignal, s.Request.WarnBefore = contract.MaxSignal+1, 1 }},
		{"warning too early", "usage/warning", func(s *Submission) { s.Request.WarnSignal, s.Request.WarnBefore = 1, Span(MaxDuration)+1 }},
		{"warning before the start", "usage/warning-early 1h 1h", func(s *Submission) {
			s.Request.WarnSignal, s.Request.WarnBefore, s.Request.TimeLimit = 1, Span(time.Hour), Span(time.Hour)
		}},
		{"retries below 0", "usage/retries 100 1h", func(s *Submission) { s.Request.Retries = -2 }},
		{"too many retries", "usage/retries 100 1h", func(s *Submission) { s.Request.Retries = MaxRetries + 1 }},
		{"back-off below 0", "usage/retries 100 1h", func(s *Submission) { s.Request.Backoff = -1 }},
		{"long back-off", "usage/retries 100 1h", func(s *Submission) { s.Request.Backoff = Span(MaxBackoff) + 1 }},
		{"long hash", "usage/hash 64", func(s *Submission) { s.Request.Script = strings.Repeat("h", MaxKeyBytes+1) }},
		{"many dependencies", "usage/dependencies 1001 1000", func(s *Submission) { s.Request.After = manyDependencies(MaxDependencies + 1) }},
		{"dependency on job 0", "usage/dependency [after after-ok after-fail after-any]", func(s *Submission) { s.Request.After = []Dependency{{AfterOK, 0}} }},
		{"deduplicated array", "usage/array-dedup", func(s *Submission) {
			s.Request.Dedup, s.Request.Array = "h", &Array{Ranges: []Range{{0, 1, 1}}}
		}},
		{"another objective", "usage/objective soon", func(s *Submission) { s.Request.Objective, s.Request.Batch = "soon", "b" }},
		{"failures of one", "usage/failures-alone", func(s *Submission) { s.Request.MaxFailures = 1 }},
		{"failures below 0", "usage/failures 100000", func(s *Submission) { s.Request.MaxFailures = -1 }},
		{"too many failures", "usage/failures 100000", func(s *Submission) { s.Request.MaxFailures = MaxTasks + 1 }},
		{"objective of one", "usage/objective-alone", func(s *Submission) { s.Request.Objective = Makespan }},
		{"batch without objective", "usage/batch-alone", func(s *Submission) { s.Request.Batch = "b" }},
		{"long batch", "usage/batch 128", func(s *Submission) {
			s.Request.Objective, s.Request.Batch = Makespan, strings.Repeat("b", MaxNameBytes+1)
		}},
		{"control in batch", "usage/batch 128", func(s *Submission) { s.Request.Objective, s.Request.Batch = Makespan, "\x00" }},
		{"long set-up", "usage/setup 122880", func(s *Submission) { s.Payload.Setup.Command = strings.Repeat("x", 120<<10+1) }},
		{"NUL in the set-up", "usage/setup 122880", func(s *Submission) { s.Payload.Setup.Command = "a\x00b" }},
		{"relative venv", "usage/setup-path", func(s *Submission) { s.Payload.Setup.Venv = "v" }},
		{"colon in the prefix", "usage/setup-path", func(s *Submission) { s.Payload.Setup.Conda = "/a:b" }},
		{"NUL in the prefix", "usage/setup-path", func(s *Submission) { s.Payload.Setup.Conda = "/a\x00" }},
		{"long prefix", "usage/setup-path", func(s *Submission) { s.Payload.Setup.Venv = "/" + strings.Repeat("v", 4096) }},
		{"another scheduler", "usage/compat", func(s *Submission) { s.Payload.Setup.Compat = "lsf" }},
		{"GPUs of none", "usage/cuda-arg", func(s *Submission) { s.Payload.Setup.CUDAArg, s.Request.GPUMilli = true, 0 }},
		{"no module", "usage/modules 64 128", func(s *Submission) { s.Payload.Setup.Modules = []string{""} }},
		{"an option as module", "usage/modules 64 128", func(s *Submission) { s.Payload.Setup.Modules = []string{"a", "-f"} }},
		{"modules", "usage/modules 64 128", func(s *Submission) { s.Payload.Setup.Modules = strings.Split(strings.Repeat("a ", 65), " ") }},
		{"no mode", "usage/env-mode", func(s *Submission) { s.Payload.EnvMode = "" }},
	} {
		s := validSubmission()
		c.change(&s)
		var p Problems
		if err := s.Validate(); !errors.As(err, &p) || len(p) != 1 || p.Error() != c.want {
			t.Errorf("%s: %d problems: %v", c.name, len(p), err)
		}
	}
}

// This is invariant 5.
func TestValidateReportsEverything(t *testing.T) {
	s := Submission{
		Key:   "\x00",
		Label: Label{Comment: "\n", Tags: map[string]string{"": ""}},
		Request: Request{GPUMilli: -1, GPUIDs: []int{1, 1}, GPUsFrom: []int{0}, GPUType: "\x00", MemBytes: -1, CPUs: -1, TimeLimit: -1, Grace: spanTo(-1),
			Priority: Priority{Number: maxPriority + 1}, GPUVisible: "\x1b"},
		Payload: Payload{Program: contract.Program{Argv: []string{"", strings.Repeat("\x00", MaxPayloadBytes)}, Env: []string{"A"}, Umask: -1}},
	}
	var p Problems
	if err := s.Validate(); !errors.As(err, &p) {
		t.Fatal(err)
	}
	codes := strings.Split(p.Error(), "\n")
	if len(p) != 22 || len(codes) != len(p) || !Printable(strings.Join(codes, " ")) {
		t.Errorf("%d problems:\n%v", len(p), p)
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(codes))); len(unique) != len(p) {
		t.Errorf("some are said twice:\n%v", p)
	}
	if (Problems{}).Err() != nil || Problems(nil).Err() != nil {
		t.Error("no problem is an error")
	}
}

// A million faults of one kind cause one problem.
func TestValidateSaysEachKindOnce(t *testing.T) {
	s := validSubmission()
	s.Payload.Argv = slices.Repeat([]string{"\x00"}, 1000)
	s.Payload.Env = slices.Repeat([]string{"A"}, 1000)
	var p Problems
	if err := s.Validate(); !errors.As(err, &p) || len(p) != 2 {
		t.Errorf("%d problems: %.300v", len(p), err)
	}
}

// A time that JSON can't encode is refused. With such a time the scheduler could not store
// anything.
func TestUnencodableTimesAreRefused(t *testing.T) {
	for text, good := range map[string]bool{
		"2026-11-22T08:00:00Z": true, "1970-01-01T00:00:00Z": true, "2999-12-31T23:59:59Z": true, "2999-12-31T23:59:59-01:00": false,
		"9999-12-31T23:59:59-12:00": false, "0000-01-01T00:00:00+12:00": false, "1969-12-31T23:59:59Z": false,
	} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		if err := (&Request{Begin: at}).Err(); (err == nil) != good {
			t.Errorf("a submission with %s: %v", text, err)
		}
		if err := (&Change{Begin: &at}).Err(); (err == nil) != good {
			t.Errorf("a change to %s: %v", text, err)
		}
	}
}
