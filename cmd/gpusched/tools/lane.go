package client

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
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// lane is a queue of task-spooler's: its jobs have a tag, with the slots that they take, and each waits for
// the end of those before it in these slots. Who adds a job has the file, so that two do not take one place.
type lane struct {
	tag   string
	file  *os.File
	slots int
}

// laneDepth is how many waiting jobs of its slot a new job depends on, besides the running ones, so that it keeps its
// turn when one of them is cancelled. More would use up the dependencies that one user may have.
const laneDepth = 20

// openLane waits for the file of the caller's lane. Each TS_SOCKET is one of its own, as there.
// With the error there is a lane without a file, which has its slots all the same.
func (a *app) openLane(ctx context.Context) (*lane, error) {
	l := &lane{tag: "tsp", slots: slotsOf(a.getenv("TS_SLOTS"))}
	if socket := a.getenv("TS_SOCKET"); socket != "" {
		sum := sha256.Sum256([]byte(socket))
		l.tag += "-" + hex.EncodeToString(sum[:])[:8]
	}
	dir := filepath.Join(a.stateDir(), "lanes")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		name := filepath.Join(dir, l.tag)
		l.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	}
	if err == nil {
		err = lockFile(ctx, int(l.file.Fd()))
	}
	if err != nil {
		return l, refuse(api.CodeInternal, "how many slots the queue has is noted there", "%v", err)
	}
	text := make([]byte, 16)
	if n, _ := l.file.ReadAt(text, 0); n > 0 {
		l.slots = slotsOf(strings.TrimSpace(string(text[:n])))
	}
	return l, nil
}

// lockFile waits until nobody else has a file.
func lockFile(ctx context.Context, fd int) error {
	for {
		err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			return err
		}
		if pause(ctx, journalPoll); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// slotsOf is a number of slots, 1 where it is none.
func slotsOf(text string) int {
	n, _ := strconv.Atoi(text)
	return max(n, 1)
}

// laneSlots says how many slots the lane has, or sets it.
func (a *app) laneSlots(ctx context.Context, to int) error {
	l, err := a.openLane(ctx)
	if err != nil {
		return err
	}
	defer l.file.Close()
	if to == 0 {
		a.out.Printf("%d\n", l.slots)
		return nil
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	if _, err = l.file.WriteAt([]byte(strconv.Itoa(to)+"\n"), 0); err == nil {
		a.note("this counts for jobs that are queued from now on")
	}
	return err
}

// heldLane is a lane of which a job is to be a part, and its file while that is submitted.
type heldLane struct {
	alias.Lane
	held *os.File
}

// enter adds the dependencies that make the job wait for its turn. It holds the lane's lock until leave.
func (h *heldLane) enter(ctx context.Context, a *app, req *api.SubmitRequest) error {
	l, err := a.openLane(ctx)
	if err != nil {
		a.note("two that are submitted at the same moment may run at the same time: %v", err)
	}
	h.held = l.file
	if h.Take > l.slots {
		return usagef("%d slots are asked, and the queue has %d (tsp -S N)", h.Take, l.slots)
	}
	jobs, err := a.mine(ctx, api.ListQuery{})
	if err != nil {
		return err
	}
	taken := make([][]api.Job, l.slots)
	for _, j := range jobs {
		for word := range strings.SplitSeq(j.Tags[l.tag], ".") {
			if n, err := strconv.Atoi(word); err == nil && n >= 0 && !j.State.Terminal() {
				taken[n%l.slots] = append(taken[n%l.slots], j)
			}
		}
	}
	order := make([]int, l.slots)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return len(taken[x]) - len(taken[y]) })
	mine := order[:h.Take]
	if req.Tags == nil {
		req.Tags = map[string]string{}
	}
	req.Tags[l.tag] = joined(mine, ".", strconv.Itoa)
	for _, slot := range mine {
		for _, id := range before(taken[slot]) {
			d := job.Dependency{Kind: job.AfterAny, Job: id}
			if !slices.Contains(req.After, d) {
				req.After = append(req.After, d)
			}
		}
	}
	return nil
}

// before are the jobs of a slot whose end the next one waits for.
func before(jobs []api.Job) (ids []job.ID) {
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

// leave lets the next one in.
func (h *heldLane) leave() {
	if h.held != nil {
		h.held.Close()
	}
}
