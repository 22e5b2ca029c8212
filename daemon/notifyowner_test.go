package daemon_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/unittest"
)

// noteRecorder records the notes to jobs, and whether the unit ran at that time.
type noteRecorder struct {
	bus  *unittest.Systemd
	hang bool

	mu    sync.Mutex
	notes []string
}

func (n *noteRecorder) tell(ctx context.Context, id job.ID, uid int, text string) error {
	if n.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	name := units.Name(int64(id))
	note := name + ": " + text
	if !n.bus.Running(name) || uid != 1001 {
		note = "not in time, or for somebody else: " + note
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notes = append(n.notes, note)
	return nil
}

func (n *noteRecorder) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.notes)
}

// endIdle changes the site's policy so that idle jobs are ended immediately.
func (r *rig) endIdle() {
	s := r.settings
	s.SampleInterval = time.Millisecond
	s.Policy.Usage = site.UsagePolicy{Idle: site.WarnAndStop, IdleAfter: time.Millisecond, IdleGrace: time.Millisecond}
	r.d.Reload(s)
}

// TestNotes: a job that is going to be stopped is told why while it still runs.
func TestNotes(t *testing.T) {
	r := newRig(t, 1, nil)
	id := r.submit(1, nil)
	r.runs(id)
	r.endIdle()
	if v := r.wait(id); v.State != job.Cancelled || v.Result.Cause != job.StopIdle {
		t.Errorf("it ended as %s: %+v", v.State, v.Result)
	}
	r.waitUntil("both notes", func() bool { return len(r.told.all()) == 2 })
	text := strings.Join(r.told.all(), "\n") // the warning travels separately and may arrive later
	if !strings.Contains(text, "gpujob-1.service: this job has not used GPU 0") || !strings.Contains("\n"+text, "\ngpujob-1.service: cancelled by the site") {
		t.Errorf("notes: %s", text)
	}
}

// TestNoteHangs: if a note can't be delivered, the job is stopped anyway.
func TestNoteHangs(t *testing.T) {
	r := newRig(t, 1, nil)
	r.told.hang = true
	id := r.submit(1, nil)
	r.runs(id)
	r.endIdle()
	if v := r.wait(id); v.State != job.Cancelled {
		t.Errorf("it ended as %s: %+v", v.State, v.Result)
	}
}
