package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/cmd/gpusched/alias"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/step"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A lane is a queue of task-spooler. Each job in a lane takes some of the lane's slots and depends
// on the earlier jobs in these slots. A tag of the job lists the slots. Adding a job locks the
// lane's file, so that two jobs never get the same place.
type lane struct {
	tag   string
	file  *os.File
	slots int
}

// A new job depends on the running jobs of its slot and on the last laneDepth waiting jobs. So the
// new job keeps its turn if one of these jobs is cancelled. More dependencies would use up the
// number that a user may have.
const laneDepth = 20

// openLane opens and locks the caller's lane. As in task-spooler, each TS_SOCKET has a lane of its
// own. If it fails, it returns an error and a lane without a file, whose slots can still be used.
func openLane(ctx context.Context, a *cli.App) (*lane, error) {
	l := &lane{tag: "tsp", slots: slotsOf(a.Getenv("TS_SLOTS"))}
	if socket := a.Getenv("TS_SOCKET"); socket != "" {
		sum := sha256.Sum256([]byte(socket))
		l.tag += "-" + hex.EncodeToString(sum[:])[:8]
	}
	dir := filepath.Join(jobenv.StateDir(a), "lanes")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		name := filepath.Join(dir, l.tag)
		l.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	}
	if err == nil {
		err = step.LockFile(ctx, int(l.file.Fd()))
	}
	if err != nil {
		return l, cli.Refuse(api.CodeInternal, "the queue's number of slots is kept there", "%v", err)
	}
	text := make([]byte, 16)
	if n, _ := l.file.ReadAt(text, 0); n > 0 {
		l.slots = slotsOf(strings.TrimSpace(string(text[:n])))
	}
	return l, nil
}

// slotsOf parses a number of slots. If there is none, it returns 1.
func slotsOf(text string) int {
	n, _ := strconv.Atoi(text)
	return max(n, 1)
}

// LaneSlots prints the number of slots of the lane, or sets it.
func LaneSlots(ctx context.Context, a *cli.App, to int) error {
	l, err := openLane(ctx, a)
	if err != nil {
		return err
	}
	defer l.file.Close()
	if to == 0 {
		a.Out.Printf("%d\n", l.slots)
		return nil
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	if _, err = l.file.WriteAt([]byte(strconv.Itoa(to)+"\n"), 0); err == nil {
		a.Note("this applies to jobs that are queued from now on")
	}
	return err
}

// A HeldLane is a lane that stays locked while a job is submitted to it.
type HeldLane struct {
	alias.Lane
	held *os.File
}

// Enter adds dependencies to the job's request, so that the job waits for its turn. The lane stays
// locked until Leave is called.
func (h *HeldLane) Enter(ctx context.Context, a *cli.App, req *api.SubmitRequest) error {
	l, err := openLane(ctx, a)
	if err != nil {
		a.Note("two jobs that are submitted at the same moment may run at the same time: %v", err)
	}
	h.held = l.file
	if h.Take > l.slots {
		return cli.Usagef("%d slots are asked for, and the queue has %d (tsp -S N)", h.Take, l.slots)
	}
	jobs, err := a.Mine(ctx, api.ListQuery{})
	if err != nil {
		return err
	}
	bySlot := make([][]api.Job, l.slots)
	for _, j := range jobs {
		for word := range strings.SplitSeq(j.Tags[l.tag], ".") {
			if n, err := strconv.Atoi(word); err == nil && n >= 0 && !j.State.Terminal() {
				bySlot[n%l.slots] = append(bySlot[n%l.slots], j)
			}
		}
	}
	order := make([]int, l.slots)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return len(bySlot[x]) - len(bySlot[y]) })
	mine := order[:h.Take]
	if req.Tags == nil {
		req.Tags = map[string]string{}
	}
	req.Tags[l.tag] = cli.Joined(mine, ".", strconv.Itoa)
	for _, slot := range mine {
		for _, id := range predecessors(bySlot[slot]) {
			d := job.Dependency{Kind: job.AfterAny, Job: id}
			if !slices.Contains(req.After, d) {
				req.After = append(req.After, d)
			}
		}
	}
	return nil
}

// predecessors returns the jobs of a slot that the next job must wait for.
func predecessors(jobs []api.Job) (ids []job.ID) {
	var waiting []job.ID
	for _, j := range jobs {
		if j.State == job.Queued {
			waiting = append(waiting, j.ID)
		} else {
			ids = append(ids, j.ID)
		}
	}
	slices.Sort(waiting)
	return append(ids, waiting[max(0, len(waiting)-laneDepth):]...)
}

// Leave unlocks the lane.
func (h *HeldLane) Leave() {
	if h.held != nil {
		h.held.Close()
	}
}
