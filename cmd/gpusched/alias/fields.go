package alias

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A state is one of Slurm's job states.
type state struct{ short, long string }

func (s state) in(list []string) bool {
	return slices.ContainsFunc(list, func(w string) bool {
		return strings.EqualFold(w, s.short) || strings.EqualFold(w, s.long) || strings.EqualFold(w, "all")
	})
}

var slurmStates = map[job.State]state{
	job.Queued: {"PD", "PENDING"}, job.Spawned: {"R", "RUNNING"}, job.Starting: {"CF", "CONFIGURING"},
	job.Running: {"R", "RUNNING"}, job.Ending: {"CG", "COMPLETING"}, job.Completed: {"CD", "COMPLETED"},
	job.Failed: {"F", "FAILED"}, job.Cancelled: {"CA", "CANCELLED"}, job.TimedOut: {"TO", "TIMEOUT"},
	job.OutOfMemory: {"OOM", "OUT_OF_MEMORY"}, job.GPUOutOfMemory: {"OOM", "OUT_OF_MEMORY"}, job.Lost: {"NF", "NODE_FAIL"},
}

var suspended = state{"S", "SUSPENDED"}

func stateOf(j api.Job) state {
	if j.State == job.Running && !j.SuspendedAt.IsZero() {
		return suspended
	}
	return slurmStates[j.State]
}

// checkStates returns an error if a word is not the name of a job state.
func checkStates(words []string) error {
	known := []string{"all", suspended.long, suspended.short}
	for _, s := range job.States() {
		if !slices.Contains(known, slurmStates[s].long) {
			known = append(known, slurmStates[s].long, slurmStates[s].short)
		}
	}
	for _, w := range words {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, w) }) {
			return fmt.Errorf("there is no state %q: there are %s", w, strings.Join(known[1:], ", "))
		}
	}
	return nil
}

// A field is a column of squeue or sacct.
type field struct {
	letter string // the letter in squeue's formats; "" if none
	title  string // the heading in squeue
	name   string // the name in sacct; "" if none
	of     func(j api.Job, now time.Time) string
}

func withoutNow(f func(api.Job) string) func(api.Job, time.Time) string {
	return func(j api.Job, _ time.Time) string { return f(j) }
}

// fields returns the columns, where node is the name of the machine.
func fields(node string) []field {
	place := func(j api.Job) string {
		if isPlaced(j) {
			return node
		}
		return ""
	}
	same := func(text string) func(api.Job, time.Time) string {
		return func(api.Job, time.Time) string { return text }
	}
	return []field{
		{"i", "JOBID", "JobID", withoutNow(idOf)},
		{"A", "JOBID", "JobIDRaw", withoutNow(rawID)},
		{"F", "ARRAY_JOB_ID", "", withoutNow(arrayOf)},
		{"K", "ARRAY_TASK_ID", "", withoutNow(taskOf)},
		{"j", "NAME", "JobName", withoutNow(func(j api.Job) string { return j.Name })},
		{"P", "PARTITION", "Partition", withoutNow(func(api.Job) string { return partition })},
		{"a", "ACCOUNT", "Account", withoutNow(func(j api.Job) string { return j.User })},
		{"u", "USER", "User", withoutNow(func(j api.Job) string { return j.User })},
		{"U", "UID", "UID", withoutNow(func(j api.Job) string { return strconv.Itoa(j.UID) })},
		{"t", "ST", "", withoutNow(func(j api.Job) string { return stateOf(j).short })},
		{"T", "STATE", "State", withoutNow(func(j api.Job) string { return stateOf(j).long })},
		{"M", "TIME", "", func(j api.Job, now time.Time) string { return shortSpan(j.Elapsed(now)) }},
		{"", "", "Elapsed", func(j api.Job, now time.Time) string { return longSpan(j.Elapsed(now)) }},
		{"", "", "ElapsedRaw", func(j api.Job, now time.Time) string { return strconv.Itoa(int(j.Elapsed(now).Seconds())) }},
		{"l", "TIME_LIMIT", "", withoutNow(func(j api.Job) string { return limitOf(j, shortSpan) })},
		{"", "", "Timelimit", withoutNow(func(j api.Job) string { return limitOf(j, longSpan) })},
		{"L", "TIME_LEFT", "", timeLeft},
		{"D", "NODES", "NNodes", withoutNow(func(api.Job) string { return "1" })},
		{"N", "NODELIST", "NodeList", withoutNow(place)},
		{"B", "EXEC_HOST", "", withoutNow(func(j api.Job) string { return cmp.Or(place(j), "n/a") })},
		{"R", "NODELIST(REASON)", "", withoutNow(func(j api.Job) string { return cmp.Or(place(j), "("+reasonOf(j)+")") })},
		{"r", "REASON", "Reason", withoutNow(reasonOf)},
		{"C", "CPUS", "AllocCPUS", withoutNow(cpusOf)},
		{"c", "MIN_CPUS", "NCPUS", withoutNow(cpusOf)},
		{"m", "MIN_MEMORY", "ReqMem", withoutNow(func(j api.Job) string { return formatSize(j.MemBytes) })},
		{"", "", "MaxRSS", withoutNow(peakMem)}, {"", "", "AveRSS", withoutNow(peakMem)},
		{"", "", "MaxVMSize", same("")}, {"", "", "AveVMSize", same("")}, {"", "", "ConsumedEnergy", same("")},
		{"", "", "TotalCPU", withoutNow(usedCPU)}, {"", "", "AveCPU", withoutNow(usedCPU)},
		{"b", "TRES_PER_NODE", "AllocGRES", withoutNow(gresOf)},
		{"Q", "PRIORITY", "Priority", withoutNow(func(j api.Job) string { return j.Priority.String() })},
		{"V", "SUBMIT_TIME", "Submit", timeField(func(j api.Job) time.Time { return j.SubmittedAt })},
		{"S", "START_TIME", "Start", timeField(startOf)},
		{"e", "END_TIME", "End", timeField(endOf)},
		{"k", "COMMENT", "Comment", withoutNow(func(j api.Job) string { return j.Comment })},
		{"", "", "ExitCode", withoutNow(exitOf)},
		{"", "", "DerivedExitCode", withoutNow(exitOf)},
		{"q", "QOS", "QOS", withoutNow(func(api.Job) string { return "normal" })},
		{"f", "FEATURES", "Constraints", withoutNow(func(api.Job) string { return "(null)" })},
		{"E", "DEPENDENCY", "", withoutNow(func(j api.Job) string { return cmp.Or(slurm.Dependencies(j.After), "(null)") })},
		{"", "", "ReqCPUS", withoutNow(cpusOf)},
		{"", "", "CPUTime", func(j api.Job, now time.Time) string { return longSpan(cpuTime(j, now)) }},
		{"", "", "CPUTimeRAW", func(j api.Job, now time.Time) string { return strconv.Itoa(int(cpuTime(j, now).Seconds())) }},
		{"", "", "ReqTRES", withoutNow(tresOf)},
		{"", "", "AllocTRES", withoutNow(tresOf)},
		{"", "", "AllocNodes", withoutNow(func(api.Job) string { return "1" })},
		{"", "", "Restarts", withoutNow(func(j api.Job) string { return strconv.Itoa(j.Requeues) })},
		{"p", "PRIORITY", "", withoutNow(func(j api.Job) string { return j.Priority.String() })},
		{"y", "NICE", "", withoutNow(func(j api.Job) string { return strconv.Itoa(-j.Priority.Number) })},
		{"Z", "WORK_DIR", "WorkDir", withoutNow(func(j api.Job) string { return private(j, func(p *api.Private) string { return string(p.Dir) }) })},
		{"o", "COMMAND", "", withoutNow(func(j api.Job) string { return private(j, func(p *api.Private) string { return p.Command }) })},
		{"", "", "Cluster", same("localhost")}, {"", "", "NTasks", same("1")},
		{"", "", "Planned", func(j api.Job, now time.Time) string {
			return longSpan(max(0, plannedUntil(j, now).Sub(j.SubmittedAt)))
		}},
		{"h", "OVER_SUBSCRIBE", "", same("OK")}, {"v", "RESERVATION", "", same("(null)")}, {"W", "LICENSES", "", same("(null)")},
		{"w", "WCKEY", "", same("(null)")}, {"n", "REQ_NODES", "", same("")}, {"x", "EXC_NODES", "", same("")},
		{"d", "MIN_TMP_DISK", "", same("0")}, {"X", "CORE_SPEC", "", same("N/A")}, {"z", "S:C:T", "", same("*:*:*")},
	}
}

// private returns what only the job's owner may see, and "N/A" for others' jobs.
func private(j api.Job, of func(*api.Private) string) string {
	if j.Private == nil {
		return "N/A"
	}
	return of(j.Private)
}

// plannedUntil returns when the job stopped waiting: at its start, at its end if it never started, or
// not yet.
func plannedUntil(j api.Job, now time.Time) time.Time {
	for _, at := range []time.Time{j.StartedAt, j.EndedAt} {
		if !at.IsZero() {
			return at
		}
	}
	return now
}

// partition is the name of the only partition that is shown.
const partition = "gpu"

// rawID returns the job's number. A task that is not a job yet has its array's.
func rawID(j api.Job) string {
	if j.ID == 0 && j.Task != nil {
		return j.Task.Array.String()
	}
	return j.ID.String()
}

func idOf(j api.Job) string {
	switch {
	case j.Task != nil:
		return j.Task.Name
	case j.Array != nil:
		return j.ID.String() + "_[" + waitingTasks(j) + "]"
	}
	return j.ID.String()
}

// waitingTasks formats the numbers of the tasks that have not become jobs, and how many tasks may
// run at once.
func waitingTasks(j api.Job) string {
	rest, err := WaitingTasks(j)
	if err != nil || rest.Size() == 0 { // none waits in an array that has ended
		return j.Array.Spec
	}
	return rest.Spec()
}

// shownByTasks reports whether all tasks of an array have become jobs. If so, a table shows these
// tasks and not the array.
func shownByTasks(j api.Job) bool {
	switch {
	case j.Array == nil:
		return false
	case j.State.Terminal(): // the array's own line represents the tasks that were cancelled before they became jobs
		return j.Array.Next >= j.Array.Size
	}
	return j.Array.Next+j.Array.Cancelled >= j.Array.Size
}

// WaitingTasks returns the tasks of an array that have not become jobs. It fails if these tasks
// form so many ranges that the scheduler has shortened their list.
func WaitingTasks(j api.Job) (*job.Array, error) {
	tasks, err := job.ParseArray(j.Array.Spec)
	if err == nil && tasks.Size() != j.Array.Size {
		err = errors.New("the array has too many parts to tell its tasks apart")
	}
	if err != nil {
		return nil, err
	}
	skipped, err := job.ParseTasks(j.Array.SkippedTasks)
	if err != nil {
		return nil, err
	}
	rest := tasks.From(j.Array.Next + j.Array.Cancelled - len(skipped)) // those before became jobs or were cancelled
	if len(skipped) == 0 {
		return rest, nil
	}
	gone := map[int]bool{}
	for _, n := range skipped {
		gone[n] = true
	}
	var waiting []int
	for at := range rest.Size() {
		if n := rest.At(at); !gone[n] {
			waiting = append(waiting, n)
		}
	}
	if waiting == nil {
		return &job.Array{}, nil
	}
	left, err := job.ParseArray(job.FormatTasks(waiting))
	if err == nil {
		left.Limit = rest.Limit
	}
	return left, err
}

// expandArrays replaces each waiting array with one job for each of its waiting tasks.
func expandArrays(jobs []api.Job) (list []api.Job) {
	for _, j := range jobs {
		rest := (*job.Array)(nil)
		if j.Array != nil && j.State == job.Queued && !shownByTasks(j) {
			rest, _ = WaitingTasks(j)
		}
		if rest == nil {
			list = append(list, j)
			continue
		}
		one := j
		one.Array = nil
		for at := range rest.Size() {
			task := job.Task{Array: j.ID, Index: rest.At(at)}
			one.Task = &api.Task{Task: task, Name: task.String()}
			list = append(list, one)
		}
	}
	return list
}

func arrayOf(j api.Job) string {
	if j.Task != nil {
		return j.Task.Array.String()
	}
	return j.ID.String()
}

func taskOf(j api.Job) string {
	switch {
	case j.Task != nil:
		return strconv.Itoa(j.Task.Index)
	case j.Array != nil:
		return waitingTasks(j)
	}
	return "N/A"
}

// shortSpan formats a duration as squeue does: 0:07, 1:02:03, 1-02:03:04.
func shortSpan(d time.Duration) string {
	s := int64(d / time.Second)
	switch day, hour, minute := s/86400, s/3600%24, s/60%60; {
	case day > 0:
		return fmt.Sprintf("%d-%02d:%02d:%02d", day, hour, minute, s%60)
	case hour > 0:
		return fmt.Sprintf("%d:%02d:%02d", hour, minute, s%60)
	default:
		return fmt.Sprintf("%d:%02d", minute, s%60)
	}
}

// longSpan formats a duration as sacct does: 00:00:07.
func longSpan(d time.Duration) string {
	s := int64(d / time.Second)
	text := fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60)
	if s >= 86400 {
		text = fmt.Sprintf("%d-%s", s/86400, text)
	}
	return text
}

func limitOf(j api.Job, written func(time.Duration) string) string {
	if j.TimeLimit == 0 {
		return "UNLIMITED"
	}
	return written(j.TimeLimit.Duration())
}

func timeLeft(j api.Job, now time.Time) string {
	if j.TimeLimit == 0 {
		return "UNLIMITED"
	}
	return shortSpan(max(0, j.TimeLimit.Duration()-j.Elapsed(now)))
}

func isPlaced(j api.Job) bool { return !j.PlacedAt.IsZero() && j.State != job.Queued }

// slurmReasons translates reasons into Slurm's words. Reasons that are not listed become Resources.
var slurmReasons = map[job.ReasonCode]string{
	job.ReasonHeld: "JobHeldUser", job.ReasonFailures: "JobHeldUser", job.ReasonDependency: "Dependency", job.ReasonBegin: "BeginTime",
	job.ReasonArrayLimit: "JobArrayTaskLimit", job.ReasonLane: "Dependency", job.ReasonLaneKept: "Dependency",
	job.ReasonSiteLane: "Licenses", job.ReasonGPUKept: "Priority",
	job.ReasonShutdown: "ReqNodeNotAvail", job.ReasonGPUReserved: "Reservation", job.ReasonQuotaGPUs: "QOSMaxGRESPerUser",
	job.ReasonQuotaJobs: "QOSMaxJobsPerUserLimit", job.ReasonQuotaMem: "QOSMaxMemoryPerUser",
	job.ReasonQuotaCPUs: "QOSMaxCpuPerUserLimit",
}

func reasonOf(j api.Job) string {
	switch {
	case j.State != job.Queued:
		return "None"
	case j.HeldBy != "":
		return "JobHeldUser"
	}
	for _, r := range j.Reasons {
		if word := slurmReasons[r.Code]; word != "" {
			return word
		}
	}
	return "Resources"
}

// formatSize formats an amount of memory in Slurm's units, rounded up.
func formatSize(bytes int64) string {
	const mega = 1 << 20
	switch {
	case bytes == 0:
		return "0"
	case bytes%(1<<30) == 0:
		return strconv.FormatInt(bytes>>30, 10) + "G"
	}
	return strconv.FormatInt((bytes+mega-1)/mega, 10) + "M"
}

func gresOf(j api.Job) string {
	if j.GPUMilli == 0 {
		return "N/A"
	}
	return "gres/gpu:" + job.FormatGPUs(j.GPUMilli)
}

func peakMem(j api.Job) string { return formatSize(j.PeakMemBytes) }

// usedCPU formats the CPU time that the job's processes have used.
func usedCPU(j api.Job) string { return longSpan(time.Duration(j.CPUSeconds * float64(time.Second))) }

func cpusOf(j api.Job) string { return strconv.Itoa(max(j.CPUs, j.PromisedCPUs, 1)) }

// cpuTime returns the time for which the job has had its CPUs, added up over the CPUs.
func cpuTime(j api.Job, now time.Time) time.Duration {
	return j.Elapsed(now) * time.Duration(max(j.CPUs, j.PromisedCPUs, 1))
}

// tresOf formats what the job has, as in cpu=2,gres/gpu=1,mem=4G,node=1.
func tresOf(j api.Job) string {
	text := "cpu=" + cpusOf(j)
	if j.GPUMilli > 0 {
		text += ",gres/gpu=" + job.FormatGPUs(j.GPUMilli)
	}
	return text + ",mem=" + formatSize(j.MemBytes) + ",node=1"
}

func startOf(j api.Job) time.Time {
	if j.StartedAt.IsZero() {
		return j.ExpectedStart
	}
	return j.StartedAt
}

func endOf(j api.Job) time.Time {
	if j.EndedAt.IsZero() {
		return j.ExpectedEnd
	}
	return j.EndedAt
}

// timeField formats a time as Slurm does, in local time.
func timeField(f func(api.Job) time.Time) func(api.Job, time.Time) string {
	return func(j api.Job, now time.Time) string {
		at := f(j)
		if at.IsZero() {
			return "N/A"
		}
		return at.In(now.Location()).Format("2006-01-02T15:04:05")
	}
}

// exitOf formats the exit status and the signal that ended the job.
func exitOf(j api.Job) string {
	switch {
	case j.Result == nil:
		return "0:0"
	case j.State == job.Failed && j.Result.Signal == 0: // 125 to 127 if the command could not start
		return fmt.Sprintf("%d:0", j.Result.Code)
	}
	return fmt.Sprintf("%d:%d", j.Result.ExitCode, j.Result.Signal)
}
