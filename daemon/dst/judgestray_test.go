package dst

import (
	"fmt"
	"reflect"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// seeStrays looks at a sample. It notes which strays are shown in their jobs' units, and which
// strays can now be attributed to their jobs in another way.
func (w *World) seeStrays(s *gpu.Snapshot) {
	for i := range s.Devices {
		for _, p := range s.Devices[i].Processes {
			o := w.strays[p.PID]
			if o == nil || o.run == nil {
				continue
			}
			o.told = o.told || w.countsAsLive(o.run) && (p.Unit != "" || w.ownerKnown(o, s.Devices[i].UUID))
			o.noted = o.noted || o.told && p.Unit == ""
		}
	}
}

// countsAsLive reports whether the core still counts a run's attempt as live.
func (w *World) countsAsLive(r *run) bool {
	return w.tracked.states[r.job].Live() && w.tracked.attempts[r.job] == r.attempt
}

// ownerKnown reports whether the daemon can tell from a stray's user and start time which job the
// stray belongs to. It can if no other job of the user has the GPU, and if the unit in which the
// stray began still exists.
func (w *World) ownerKnown(s *stray, uuid string) bool {
	j := w.tracked
	if j.truth[attemptKey(s.run.job, s.run.attempt)] != s.run {
		return false
	}
	for key, h := range j.books.holds {
		if h.open() && h.uid == person(s.UID) && h.has(uuid) && key != attemptKey(s.run.job, s.run.attempt) {
			return false
		}
	}
	return true
}

// forgetStrays notes the strays that a new process of the daemon cannot know. These are strays that
// are still in their units, and strays on a GPU if the last decision about that GPU is not on
// record.
func (w *World) forgetStrays(was *disk) {
	for _, g := range w.gpus {
		written := was != nil && reflect.DeepEqual(was.controls[g.UUID].Fault.Strays, w.disk.controls[g.UUID].Fault.Strays)
		for _, p := range g.processes {
			if s := w.strays[p.PID]; s != nil {
				s.noted = s.noted && written
				s.told = s.told && s.noted
			}
		}
	}
}

// leftOn returns a reason if a process of an ended job is on the GPU and the daemon was told about
// the process. If a unit vanished without a trace and its attempt was started again, nobody knows
// about the attempt's first run.
func (w *World) leftOn(g *card) string {
	j := w.tracked
	for _, p := range g.processes {
		s := w.strays[p.PID]
		if s == nil || s.run == nil || !s.told || j.policy.Strays == site.TellStrays || s.run.ended < j.excused[g.UUID] {
			continue
		}
		if known := j.truth[attemptKey(s.run.job, s.run.attempt)] == s.run; known && !j.states[s.run.job].Live() {
			return fmt.Sprintf("process %d, which job %d left behind, is still on it", p.PID, s.run.job)
		}
	}
	return ""
}

// whyTaken returns a reason if the site wants no job to get a whole GPU on which a sample showed a
// foreign process. Otherwise it returns "".
func (w *World) whyTaken(placed *job.Job, ref job.Allocation) string {
	j, q := w.tracked, &placed.Request
	if ref.Milli != 0 || q.GPUMemBytes > 0 || q.MaxUsedPercent > 0 || q.Part() > 0 || j.policy.MaxForeignBytes == 0 {
		return ""
	}
	d := w.toldOf(ref.UUID)
	for i := range d.Processes {
		if p := &d.Processes[i]; p.UID == idleUID && p.Occupies(j.policy.MaxForeignBytes) {
			return fmt.Sprintf("process %d of no job has it", p.PID)
		}
	}
	return ""
}

// idleUID is the uid of a user who never has a job.
const idleUID = 1005

// judgeEndProcess checks invariant 14 for a process that the daemon ends.
func (w *World) judgeEndProcess(a core.EndProcess, s *stray) {
	if w.runOf(gpu.Process{PID: a.PID}) != nil {
		w.breach(14, "process %d in the unit of a job is told to end as if it were outside", a.PID)
	}
	if s == nil {
		return // the process has ended in the meantime
	}
	if a.Job == 0 {
		w.judgeEndStranger(s)
		return
	}
	if w.tracked.policy.Strays != site.EndStrays {
		w.breach(14, "process %d is told to end, and the site does not want that", a.PID)
	}
	for _, g := range w.gpus {
		if g.hasProcess(a.PID) && w.beganDuring(g.UUID, s) {
			return
		}
	}
	if w.isSteady() {
		w.breach(14, "process %d of uid %d is told to end, and began while that user had no job on its GPU", a.PID, s.UID)
	}
}

// judgeEndStranger checks invariant 14 for a foreign process.
func (w *World) judgeEndStranger(s *stray) {
	p := &w.tracked.policy
	told, ever := w.toldUser[person(s.UID)]
	switch {
	case p.Strangers != site.EndStrangers:
		w.breach(14, "process %d is told to end as a stranger, and the site does not want that", s.PID)
	case s.Kind == gpu.KindGraphics:
		w.breach(14, "process %d is told to end, and it only draws", s.PID)
	case !ever && w.lives == 1:
		w.breach(14, "process %d is told to end, and uid %d was told nothing", s.PID, s.UID)
	case w.isSteady() && w.lives == 1 && s.warned > 0 && w.Elapsed-s.warned < min(p.StrangersAfter, time.Minute):
		w.breach(14, "process %d is told to end %s after its user was told", s.PID, w.Elapsed-told)
	}
}

// beganDuring reports whether a process began while a job of its user had the GPU and still ran.
// The time at which the daemon heard of that job's end does not matter.
func (w *World) beganDuring(uuid string, s *stray) bool {
	for key, h := range w.tracked.books.holds {
		r, from := w.tracked.truth[key], h.from
		if r != nil && r.began > 0 { // the tenure is counted anew after a loss of the state file
			from = min(from, r.began)
		}
		if h.uid != person(s.UID) || !h.has(uuid) || from > s.began+time.Second || !h.open() && s.began > h.to+time.Second {
			continue
		}
		if r == nil || r.over == 0 || s.began <= r.over+time.Second {
			return true
		}
	}
	return false
}
