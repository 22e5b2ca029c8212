package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// These columns are filled in only if the user asks for them by name.
const (
	CommandColumn = "command"
	pidColumn     = "pid"
)

// mostLookedUp is the largest number of jobs whose commands are requested. Each job takes a
// request.
const mostLookedUp = 1000

// AddLookedUp fills in the columns that the list of jobs does not contain: the commands of the
// caller's jobs (of all jobs for root), and the processes of running jobs. If a request fails, the
// list is shown without these columns.
func (a *App) AddLookedUp(ctx context.Context, columns []string, jobs []api.Job) {
	if slices.Contains(columns, CommandColumn) {
		a.addCommands(ctx, jobs)
	}
	if slices.Contains(columns, pidColumn) {
		if err := a.AddPIDs(ctx, jobs); err != nil {
			a.Note("processes of jobs are missing: %v", err)
		}
	}
}

func (a *App) addCommands(ctx context.Context, jobs []api.Job) {
	for i := range jobs[:min(len(jobs), mostLookedUp)] {
		if a.UID != 0 && jobs[i].UID != a.UID || jobs[i].ID == 0 {
			continue
		}
		reply, err := api.Show(ctx, a.Client, NameOfJob(jobs[i]), api.JobQuery{})
		var refused *api.Error
		switch {
		case errors.As(err, &refused) && refused.Code == api.CodeNotFound: // the scheduler has deleted the job
		case err != nil:
			a.Note("commands of jobs are missing: %v", err)
			return
		case reply.Job.Private != nil:
			jobs[i].Command = reply.Job.Private.Command
			if a.As.Table != nil {
				jobs[i].Private = reply.Job.Private
			}
		}
	}
}

// systemctlLimit is the time limit for a run of systemctl.
const systemctlLimit = 10 * time.Second

// AddPIDs fills in the main processes of running jobs. It gets them from systemd.
func (a *App) AddPIDs(ctx context.Context, jobs []api.Job) error {
	for _, manager := range []string{"", api.UserManager} {
		var units []string
		for _, j := range jobs {
			if j.Manager == manager && j.Unit != "" && j.Engine == "" && (j.State == job.Running || j.State == job.Ending) {
				units = append(units, j.Unit)
			}
		}
		if len(units) == 0 {
			continue
		}
		args := []string{"show", "--property=Id,MainPID"}
		if manager == api.UserManager {
			args = append(args, "--user")
		}
		ctx, cancel := context.WithTimeout(ctx, systemctlLimit)
		out, err := exec.CommandContext(ctx, "systemctl", append(args, units...)...).Output()
		cancel()
		if err != nil {
			return fmt.Errorf("systemctl show: %w", err)
		}
		pids := mainPIDs(out)
		for i := range jobs {
			if jobs[i].Manager == manager && pids[jobs[i].Unit] > 0 {
				jobs[i].MainPID = pids[jobs[i].Unit]
			}
		}
	}
	return nil
}

// mainPIDs parses the output of systemctl show. An empty line separates units.
func mainPIDs(out []byte) map[string]int {
	pids := map[string]int{}
	for unit := range bytes.SplitSeq(out, []byte("\n\n")) {
		id, pid := "", 0
		for line := range strings.Lines(string(unit)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch name {
			case "Id":
				id = value
			case "MainPID":
				pid, _ = strconv.Atoi(value)
			}
		}
		pids[id] = pid
	}
	return pids
}

func pidOf(j api.Job) string {
	if j.MainPID == 0 {
		return ""
	}
	return strconv.Itoa(j.MainPID)
}
