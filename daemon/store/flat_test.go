package store

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gpusched/gpusched/daemon/job"
)

// agrees fails where quick takes a document that encoding/json refuses or reads
// in another way.
func agrees[T any](t interface{ Fatalf(string, ...any) }, s string, quick func(*T, string) bool) bool {
	var got, want T
	if !quick(&got, s) {
		return false
	}
	if err := json.Unmarshal([]byte(s), &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\nquick %+v\njson  %+v, %v", s, got, want, err)
	}
	return true
}

// damage changes a byte, or none.
func damage(t *rapid.T, s string) string {
	b := []byte(s)
	if rapid.Bool().Draw(t, "damage") {
		b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("{}\",:.0-1\\e \xff")).Draw(t, "byte")
	}
	return string(b)
}

// The quick way to read a document is only quicker.
func TestQuickReadingIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching("[a-f0-9ü{}\"\\\\<]{0,8}")
		r := job.Request{
			GPUMilli: rapid.Int().Draw(t, "milli"), GPUMemBytes: rapid.Int64().Draw(t, "gpu memory"), CPUs: rapid.IntRange(0, 9).Draw(t, "cpus"),
			TimeLimit: job.Span(rapid.Int64Range(-int64(job.MaxDuration), int64(job.MaxDuration)).Draw(t, "limit")),
			Priority:  job.Priority{Class: job.Low, Number: rapid.Int().Draw(t, "number")},
			Requeue:   rapid.Bool().Draw(t, "requeue"), GPUType: word.Draw(t, "type"),
			Spread: rapid.Bool().Draw(t, "spread"), Preemptible: rapid.Bool().Draw(t, "preemptible"),
			OnTimeout: job.TimeoutAction(word.Draw(t, "on timeout")), Retries: rapid.IntRange(-1, 9).Draw(t, "retries"),
			Backoff: job.Span(rapid.Int64Range(0, int64(job.MaxDuration)).Draw(t, "back-off")), Batch: word.Draw(t, "batch"),
			Derived: job.Derived{Shape: word.Draw(t, "shape"), ImpliedStop: rapid.Bool().Draw(t, "implied")},
		}
		l := job.Life{Expected: time.Duration(rapid.Int64().Draw(t, "expected")), Held: word.Draw(t, "held")}
		if rapid.Bool().Draw(t, "times") {
			l.QueuedAt = epoch.Add(time.Duration(rapid.Int64Range(-1e18, 1e18).Draw(t, "at")))
		}
		e := encoder{}
		agrees(t, damage(t, e.json(&r)), flatRequest)
		agrees(t, damage(t, e.json(&l)), flatLife)
		agrees(t, damage(t, e.json(&job.Label{Name: word.Draw(t, "name"), Comment: word.Draw(t, "comment")})), flatLabel)
	})
}

// The documents of an ordinary job are read the quick way.
func TestOrdinaryJobIsReadQuickly(t *testing.T) {
	j := queued(1)
	j.QueuedAt, j.Expected = j.SubmittedAt, time.Hour
	j.Request.Shape, j.Request.Grace, j.Request.DefaultedMem = "0123", job.Span(time.Minute), true
	j.Request.OnTimeout, j.Request.Retries = job.TimeoutKill, 2
	e := encoder{}
	for _, s := range []string{e.json(&j.Request), e.json(&j.Life), e.json(&j.Label)} {
		if !flatRequest(&job.Request{}, s) && !flatLife(&job.Life{}, s) && !flatLabel(&job.Label{}, s) {
			t.Errorf("%s is not", s)
		}
	}
}
