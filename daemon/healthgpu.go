package daemon

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/gpu"
)

// checkGPU reports what is wrong with a GPU that takes no jobs, and what to do about it.
func checkGPU(g *job.GPUView, account func(uid int) string) job.Check {
	c := job.Check{Name: fmt.Sprintf("gpu %d", g.Index), Health: job.Degraded}
	said := job.Say("detail/check-gpu", string(g.State), g.StateDetail)
	c.Said, c.Detail = &said, words.Say(said)
	if g.Control.Fault.OfCUDA() {
		c.Health = job.Failing
	}
	switch {
	case g.State == job.GPUSick && g.Stuck != 0:
		c.Next = fmt.Sprintf("see 'job %d' in this list", g.Stuck)
	case g.State == job.GPUSick:
		c.Next = gpu.Recovery(g.Needs).Next(g.Index, g.Card()) + usersOf(g, account)
		if !g.Control.Fault.Left.What.IsZero() {
			c.Next += "; 'gpusched doctor', as root, names who has it open"
		}
	case g.State == job.GPUSuspect && g.StateDetail.Code == "detail/failing":
		c.Next = fmt.Sprintf("no job gets it until then; 'gpusched gpu resume %d' gives it to jobs at once, and 'gpusched doctor --test' then tests it", g.Index)
	case g.State == job.GPUSuspect:
		c.Next = strayAdvice(g, account)
	case g.State == job.GPULost:
		c.Next = "no job gets it, and the jobs that have it are ended; see 'dmesg | grep NVRM', then reboot the machine; if it happens again, have the hardware checked"
	default:
		c.Next = "no job gets it until it answers and is clean; see nvidia-smi and the kernel log"
	}
	return c
}

// parkingDriver is the first version of the driver that can park jobs.
const parkingDriver = 570

// checkParking reports that the site allows parking and the driver can't do it.
func checkParking(v *job.View, allowed bool) []job.Check {
	major, _, _ := strings.Cut(v.Driver, ".")
	if n, err := strconv.Atoi(major); !allowed || err != nil || n >= parkingDriver {
		return nil
	}
	return []job.Check{{
		Name: "parking", Health: job.Degraded, Next: "install a newer driver, or set park.allow = false",
		Detail: fmt.Sprintf("no job can be parked: that needs driver %d, and this is driver %s", parkingDriver, v.Driver),
	}}
}

// strayAdvice says how to end processes on a GPU that does not belong to their job. Such a process
// may be part of a running job that uses another job's GPU, or may be left over from an ended job.
func strayAdvice(g *job.GPUView, account func(uid int) string) string {
	var whom []string
	for _, p := range g.Processes {
		if p.Job == 0 || slices.Contains(g.Jobs, p.Job) || len(whom) == maxUsersNamed {
			continue
		}
		whom = append(whom, fmt.Sprintf("process %d of %s, of job %d", p.PID, account(p.UID), p.Job))
	}
	if len(whom) == 0 {
		return "no job gets it until it is clean; see nvidia-smi and the kernel log"
	}
	return "end " + strings.Join(whom, ", ") + " ('gpusched cancel' where the job runs, 'kill' where it has ended), or set gpus.strays = \"end\", and the scheduler ends such processes itself"
}

// maxUsersNamed limits how many users of one GPU a line of health names.
const maxUsersNamed = 5

// usersOf names the jobs and other processes that use a GPU. The GPU can't be reset until they end.
func usersOf(g *job.GPUView, account func(uid int) string) string {
	var users []string
	for _, id := range g.Jobs {
		users = append(users, "job "+id.String())
	}
	for _, p := range g.Processes {
		if p.Job == 0 {
			users = append(users, fmt.Sprintf("process %d of %s", p.PID, account(p.UID)))
		}
	}
	if len(users) == 0 {
		return ""
	}
	if more := len(users) - maxUsersNamed; more > 0 {
		users = append(users[:maxUsersNamed], fmt.Sprintf("%d more", more))
	}
	return "; it is used by " + strings.Join(users, ", ")
}

// checkStuck reports jobs whose processes can't be killed.
func checkStuck(active []job.Job) []job.Check {
	var checks []job.Check
	for _, j := range active {
		if j.State != job.Ending || j.Left == "" {
			continue
		}
		what := "its memory"
		if gpus := j.GPUIndexes(); len(gpus) > 0 {
			what = "GPU " + job.FormatGPUList(gpus) + " and its memory"
		}
		checks = append(checks, job.Check{
			Name: "job " + j.ID.String(), Health: job.Degraded, Detail: "it can't be killed and still holds " + what + ": " + j.Left,
			Next: "it ends by itself once the driver or network disk that hangs answers again (see 'dmesg' and /proc/PID/stack); otherwise reboot the machine",
		})
	}
	return checks
}

// checkRows reports bad rows of GPU memory. NVIDIA's advice: a row that waits to be remapped does
// not affect further work, and a row that can't be remapped is a reason to replace the GPU.
func checkRows(g *job.GPUView) (c job.Check, bad bool) {
	c = job.Check{Name: fmt.Sprintf("gpu %d memory", g.Index), Health: job.Degraded}
	switch {
	case g.RowsFailed:
		c.Detail = "a bad row of its memory could not be replaced: no spare row is left"
		c.Next = "have the GPU checked and replaced (nvidia-smi -q -d ROW_REMAPPER); " + fmt.Sprintf("'gpusched gpu drain %d' keeps jobs off it until 'gpusched gpu undrain'", g.Index)
	case g.RowsPending:
		c.Detail = "a bad row of its memory will be replaced at the next reset; programs can run until then"
		c.Next = fmt.Sprintf("reset it when convenient ('nvidia-smi -i %d --gpu-reset', see SICK GPUS in gpusched-admin(7)), or reboot the machine", g.Card())
	}
	return c, c.Detail != ""
}

// checkDoubt reports a GPU on which several jobs of one user have failed in a row.
// The GPU still takes jobs, because the user's jobs may be at fault.
func checkDoubt(g *job.GPUView) (c job.Check, bad bool) {
	return job.Check{
		Name: fmt.Sprintf("gpu %d doubt", g.Index), Health: job.Degraded, Detail: words.Say(g.Doubt),
		Next: fmt.Sprintf("'gpusched doctor --test' tests the GPU; 'gpusched gpu drain %d' keeps jobs off it", g.Index),
	}, !g.Doubt.IsZero()
}

// checkMode reports a compute mode of the GPU that makes the scheduler's jobs fail.
func checkMode(g *job.GPUView) (c job.Check, bad bool) {
	c = job.Check{
		Name: fmt.Sprintf("gpu %d mode", g.Index), Health: job.Degraded,
		Next: fmt.Sprintf("nvidia-smi -i %d -c DEFAULT", g.Card()),
	}
	switch g.ComputeMode {
	case "prohibited":
		c.Detail = "its compute mode is prohibited: no program can use it, and every job on it fails"
	case "exclusive-process":
		c.Detail = "its compute mode is exclusive-process: a second process on it fails, whether of the same job or of another that shares it"
	}
	return c, c.Detail != ""
}
