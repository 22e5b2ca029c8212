package health

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/gpu"
)

// absentGPUs takes indexes of GPUs, and returns the ones that no GPU of the machine has.
func absentGPUs(only []int, gpus []job.GPUView) []int {
	return slices.DeleteFunc(slices.Clone(only), func(index int) bool {
		return slices.ContainsFunc(gpus, func(g job.GPUView) bool { return g.Index == index || g.Card() == index })
	})
}

// GPUs reports whether the GPUs answer, and what is wrong with each. The GPUs in the list only must be
// there.
func GPUs(v *job.View, only []int, account func(uid int) string) []job.Check {
	answer := 0
	for _, g := range v.GPUs {
		if g.State != job.GPULost && g.State != job.GPUUnknown {
			answer++
		}
	}
	c := job.Check{Name: "gpus", Health: job.Healthy, Detail: fmt.Sprintf("%d of %d GPUs answer, driver %s", answer, len(v.GPUs), v.Driver)}
	switch {
	case v.Problem != "":
		c.Health, c.Detail = job.Degraded, v.ProblemDetail
		if v.ProblemCause != "" {
			c.Detail += " (" + v.ProblemCause + ")"
		}
		c.Next = "run nvidia-smi; jobs with --gpus 0 run meanwhile, and GPU jobs wait"
	case v.DriverInstalled != "":
		c.Health = job.Failing
		c.Detail = fmt.Sprintf("the driver was upgraded to %s while %s is loaded: each new CUDA program would fail, so no job with a GPU is started; running jobs go on", v.DriverInstalled, v.Driver)
		c.Next = "reboot the machine, or reload the kernel module while nothing uses a GPU; jobs are started again by themselves"
	case v.SampledAt.IsZero():
		c.Health, c.Detail = job.Degraded, "the GPUs have not been read yet"
	case answer < len(v.GPUs):
		c.Health, c.Next = job.Degraded, "see the lines of these GPUs"
	case len(v.GPUs) == 0:
		c.Detail = "this machine has no GPU: jobs with --gpus 0 run"
	}
	if absent := absentGPUs(only, v.GPUs); len(absent) > 0 && c.Health == job.Healthy {
		c.Health, c.Next = job.Degraded, "see 'gpusched gpus', and correct the setting"
		c.Detail += fmt.Sprintf("; gpus.only names GPU %s, which is not there", job.FormatGPUList(absent))
	}
	checks := []job.Check{c}
	for _, g := range v.GPUs {
		for _, look := range []func(*job.GPUView) (job.Check, bool){checkRows, checkMode, checkDoubt} {
			if c, bad := look(&g); bad {
				checks = append(checks, c)
			}
		}
		if g.State.Broken() && v.Problem == "" && v.DriverInstalled == "" {
			checks = append(checks, checkGPU(&g, account))
		}
	}
	return checks
}

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

// Parking reports that the site allows parking and the driver can't do it.
func Parking(v *job.View, allowed bool) []job.Check {
	if n := gpu.DriverMajor(v.Driver); !allowed || n == 0 || n >= parkingDriver {
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
	users := job.Each(g.Jobs, func(id job.ID) string { return "job " + id.String() })
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

// Stuck reports jobs whose processes can't be killed.
func Stuck(active []job.Job) []job.Check {
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

// Proofs reports the GPUs that were not tested with CUDA before they got jobs.
func Proofs(v *job.View, on bool) job.Check {
	c := job.Check{Name: "cuda", Health: job.Healthy, Detail: "each GPU is tested with CUDA before its first job, and when a job fails at once on it"}
	if !on {
		c.Detail = "GPUs are not tested with CUDA (gpus.cuda_test)"
		return c
	}
	var list []int
	why := ""
	for _, g := range v.GPUs {
		if !g.Untested.IsZero() {
			list, why = append(list, g.Index), words.Say(g.Untested)
		}
	}
	if len(list) == 0 {
		return c
	}
	c.Detail = fmt.Sprintf("GPU %s: used without a test with CUDA: %s", job.FormatGPUList(list), why)
	if why != gpu.NoCUDA {
		c.Health = job.Limited
		c.Next = fmt.Sprintf("see 'journalctl -u gpusched-test-%d'; 'gpusched gpu pause %[1]d' and 'gpusched gpu resume %[1]d' test it again", list[0])
	}
	return c
}
