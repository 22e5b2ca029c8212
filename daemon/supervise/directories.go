package supervise

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
)

// directoryTime exceeds the unit's own limit of 10 minutes. It matters only if systemd does not answer.
const directoryTime = 12 * time.Minute

// directories makes and removes the directories of jobs, in units of their own: the daemon may write
// to no such place.
type directories struct {
	Program string // gpusched-job
	Scope   units.Scope
	Units   oneshotRunner
}

// remove implements daemon.RemoveDirectory.
func (d *directories) remove(ctx context.Context, dir *job.Directory) error {
	return d.run(ctx, units.DirectorySpec{
		What: units.RemovalName(int64(dir.Job), dir.Attempt), UID: dir.UID, Words: []string{contract.RemoveFlag, dir.Path},
	})
}

// makeHome implements daemon.MakeScratch.
func (d *directories) makeHome(ctx context.Context, site string, uid int) error {
	return d.run(ctx, units.DirectorySpec{
		What: units.HomeName(uid), Words: []string{contract.MakeFlag, site, strconv.Itoa(uid)},
	})
}

func (d *directories) run(ctx context.Context, s units.DirectorySpec) error {
	ctx, cancel := context.WithTimeout(ctx, directoryTime)
	defer cancel()
	s.Program, s.Scope = d.Program, d.Scope
	status, err := d.Units.RunOneshot(ctx, units.DirectoryName(s), units.DirectoryProperties(s))
	if err != nil || status.Result == units.ResultSuccess {
		return err
	}
	return errors.New(cmp.Or(printableLine(status.StatusText), "its unit ended with the result "+status.Result))
}
