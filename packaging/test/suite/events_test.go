//go:build machine

package suite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// eventsIn parses lines of events. Each line must be complete.
func eventsIn(t *testing.T, text string) (list []api.Event) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e api.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("%v in %q", err, line)
		}
		list = append(list, e)
	}
	return list
}

// kindsOf returns the kinds of a job's events.
func kindsOf(list []api.Event, id int64) (kinds []job.EventKind) {
	for _, e := range list {
		if int64(e.Job) == id {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// TestEvents: a follower gets each change once and in order. The numbers of the events are
// consecutive even across a restart of the daemon. The follower learns only what is public about
// other users' jobs. Ctrl-C does not cut a line. A follower can continue from a number, and gets a
// message if events after that number are gone.
func TestEvents(t *testing.T) {
	begin(t)
	const unit, file = "followed.service", "/run/followed"
	t.Cleanup(func() { try(t, "", "systemctl stop "+unit+"; systemctl reset-failed "+unit+"; rm -f "+file) })
	sh(t, "", "systemd-run --quiet --unit "+unit+" --uid bob --property StandardOutput=file:"+file+" gpusched events -f -o jsonl")
	poll(t, "bob follows", func() bool { return try(t, "", "grep position "+file).Code == 0 })

	id := submit(t, "alice", "-g 1 -e KEY=hush-value -n mine -- sh -c ': hush-argument; sleep 1000'")
	waitRun(t, id)
	poll(t, "bob has its start", func() bool { return try(t, "", "grep job-started "+file).Code == 0 })
	sh(t, "", "systemctl restart gpusched")
	mustFail(t, "bob", fmt.Sprintf("gpusched cancel %d", id), 4, "belongs to alice")
	sh(t, "alice", fmt.Sprintf("gpusched cancel %d", id))
	wait(t, id)
	poll(t, "bob has its end", func() bool { return try(t, "", "grep job-ended "+file).Code == 0 })
	sh(t, "", "systemctl kill --signal=INT "+unit)
	poll(t, "Ctrl-C has ended it", func() bool {
		return sh(t, "", "systemctl show -P ExecMainCode "+unit) == "1" // 1 means that the process exited
	})
	if got := sh(t, "", "systemctl show -P ExecMainStatus "+unit); got != "130" {
		t.Errorf("after Ctrl-C its exit status is %s", got)
	}

	text := string(try(t, "", "cat "+file).Stdout)
	followed := eventsIn(t, text)
	for i, e := range followed[1:] {
		if e.Number != followed[i].Number+1 {
			t.Errorf("event %d (%s) comes after %d", e.Number, e.Kind, followed[i].Number)
		}
	}
	want := []job.EventKind{job.EventQueued, job.EventPlaced, job.EventStarted, job.EventEnding, job.EventEnded}
	if got := kindsOf(followed, id); !slices.Equal(got, want) {
		t.Errorf("bob got these events of job %d: %v, want %v", id, got, want)
	}
	if !strings.Contains(text, fmt.Sprintf("job %d (mine) of alice has ended: cancelled by alice", id)) || strings.Contains(text, "hush") {
		t.Errorf("bob got\n%s", text)
	}

	is := func(kind job.EventKind) func(api.Event) bool {
		return func(e api.Event) bool { return e.Kind == kind && int64(e.Job) == id }
	}
	ending := slices.IndexFunc(followed, is(job.EventEnding))
	before := followed[ending-1].Number
	again := eventsIn(t, try(t, "bob", fmt.Sprintf("gpusched events -o jsonl --since %d", before)).Stdout)
	if got := kindsOf(again, id); !slices.Equal(got, want[3:]) || again[0].Number != before+1 {
		t.Errorf("the events after %d are %v", before, again)
	}
	started := followed[slices.IndexFunc(followed, is(job.EventStarted))].Number
	gone := eventsIn(t, try(t, "bob", fmt.Sprintf("gpusched events -o jsonl --since %d", started-1)).Stdout)
	if len(gone) == 0 || gone[0].Kind != job.EventGap {
		t.Errorf("the events after %d, from before the restart, are %v", started-1, gone)
	}
}
