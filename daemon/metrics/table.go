package metrics

import "slices"

// Type is what kind of figures a family has.
type Type string

// The types.
const (
	Counter   Type = "counter"   // only grows while the process lives
	Gauge     Type = "gauge"     // goes up and down
	Histogram Type = "histogram" // a distribution
	Info      Type = "info"      // always 1: its labels tell something
)

// Family is one metric with all of its labels' values.
type Family struct {
	Name   string // without the endings that its unit and its type give it
	Type   Type
	Unit   string // "": a number of things
	Help   string
	Labels []string
}

// FullName is the name of the family with its unit, as OpenMetrics has it.
func (f *Family) FullName() string {
	if f.Unit == "" {
		return f.Name
	}
	return f.Name + "_" + f.Unit
}

// Exposed is the name of the family's samples. Those of a histogram have more endings.
func (f *Family) Exposed() string {
	switch f.Type {
	case Counter:
		return f.FullName() + "_total"
	case Info:
		return f.FullName() + "_info"
	}
	return f.FullName()
}

// Families returns the table, in the order of a page.
func Families() []Family { return slices.Concat(schedulerTable, jobsTable, gpuTable, processTable) }

// onGPU are the labels of a figure of one GPU.
var onGPU = []string{"gpu", "uuid"}

var schedulerTable = []Family{
	{"gpusched_build", Info, "", "Which release the daemon is.", []string{"version", "commit", "goversion"}},
	{"gpusched_up", Gauge, "", "Whether the scheduler works: 0 while it can't be started or does not answer.", nil},
	{"gpusched_health", Gauge, "", "How each part of 'gpusched health' is: 1 for the state that it is in.", []string{"part", "state"}},
	{"gpusched_requests", Counter, "", "Requests on the control socket by what was asked and by the answer's code: ok, or why it was refused.", []string{"action", "code"}},
	{"gpusched_planner_pass", Histogram, "seconds", "How long the steps took in which the scheduler planned.", nil},
	{"gpusched_loop_lag", Histogram, "seconds", "How long events and questions waited for the scheduler's loop.", nil},
	{"gpusched_commit", Histogram, "seconds", "How long the transactions took that put records on disk, those that failed included.", nil},
	{"gpusched_commit_failures", Counter, "", "Transactions that failed, and were tried again.", nil},
	{"gpusched_sample", Histogram, "seconds", "How long reading all GPUs took, when that failed included.", nil},
	{"gpusched_sample_failures", Counter, "", "Readings of the GPUs that failed.", nil},
	{"gpusched_last_sample_timestamp", Gauge, "seconds", "When the GPUs were last read, in Unix time; absent until they are.", nil},
	{"gpusched_host_memory", Gauge, "bytes", "Host memory that jobs may have together.", nil},
	{"gpusched_host_memory_promised", Gauge, "bytes", "Host memory that running jobs asked for.", nil},
	{"gpusched_host_cpus", Gauge, "", "CPUs that jobs may be promised together; absent where they are not counted.", nil},
	{"gpusched_host_cpus_promised", Gauge, "", "CPUs that running jobs count for.", nil},
	{"gpusched_places", Gauge, "", "Jobs that may run at once (jobs.max_running).", nil},
	{"gpusched_places_taken", Gauge, "", "Jobs that run, start or end.", nil},
	{"gpusched_drained", Gauge, "", "Whether an administrator keeps all jobs from starting ('gpusched daemon drain').", nil},
	{"gpusched_reservations", Gauge, "", "Advance reservations that have not ended.", nil},
}

var jobsTable = []Family{
	{"gpusched_jobs", Gauge, "", "Jobs that have not ended, by state and class. An array counts once, and each of its tasks from its start.", []string{"state", "class"}},
	{"gpusched_jobs_held", Gauge, "", "Queued jobs that are held, or wait for a time or another job.", nil},
	{"gpusched_oldest_queued_timestamp", Gauge, "seconds", "Since when the job has waited that has waited longest of those that may start, in Unix time; absent where none waits.", nil},
	{"gpusched_jobs_submitted", Counter, "", "Jobs and arrays that were queued.", nil},
	{"gpusched_jobs_ended", Counter, "", "Jobs and tasks that ended, by outcome.", []string{"outcome"}},
	{"gpusched_jobs_requeued", Counter, "", "Attempts after which a job went back to the queue, by why: failed and the other outcomes, or the cause for which it was stopped.", []string{"cause"}},
	{"gpusched_job_wait", Histogram, "seconds", "How long jobs waited from their submission, or their return to the queue, to their start.", nil},
	{"gpusched_job_run", Histogram, "seconds", "How long attempts ran that have ended.", nil},
	{"gpusched_user_jobs", Gauge, "", "Jobs that have not ended, by user: those with the most GPUs, then the most jobs, and all others as (other). Only with metrics.users.", []string{"user", "state"}},
	{"gpusched_user_gpus", Gauge, "", "GPUs that jobs have, parts of a GPU as fractions, by user. Only with metrics.users.", []string{"user"}},
}

var gpuTable = []Family{
	{"gpusched_gpu", Info, "", "The GPUs and their models.", []string{"gpu", "uuid", "model", "pci"}},
	{"gpusched_driver", Info, "", "The driver of the GPUs and the newest CUDA that it can run.", []string{"version", "cuda"}},
	{"gpusched_gpu_allocated", Gauge, "ratio", "The part of the GPU that jobs have.", onGPU},
	{"gpusched_gpu_jobs", Gauge, "", "Jobs on the GPU.", onGPU},
	{"gpusched_gpu_utilization", Gauge, "ratio", "The part of the time in which the GPU computed, by the driver.", onGPU},
	{"gpusched_gpu_memory", Gauge, "bytes", "Memory of the GPU.", onGPU},
	{"gpusched_gpu_memory_used", Gauge, "bytes", "Memory of the GPU in use, by the driver.", onGPU},
	{"gpusched_gpu_memory_promised", Gauge, "bytes", "Memory of the GPU that is kept for jobs which share it.", onGPU},
	{"gpusched_gpu_foreign_memory", Gauge, "bytes", "Memory of the GPU that processes of no job use.", onGPU},
	{"gpusched_gpu_foreign_processes", Gauge, "", "Processes of no job on the GPU.", onGPU},
	{"gpusched_gpu_temperature", Gauge, "celsius", "Temperature of the GPU.", onGPU},
	{"gpusched_gpu_power", Gauge, "watts", "What the GPU draws.", onGPU},
	{"gpusched_gpu_energy", Counter, "joules", "What the GPU has used since the driver was loaded, where the driver counts it.", onGPU},
	{"gpusched_gpu_paused", Gauge, "", "Whether an administrator keeps new jobs off the GPU, by a pause or a drain.", onGPU},
	{"gpusched_gpu_faulted", Gauge, "", "Whether something is wrong with the GPU, so that no job is placed on it.", onGPU},
	{"gpusched_gpu_state", Gauge, "", "The state of the GPU in 'gpusched gpus': 1 for the state that it is in.", []string{"gpu", "uuid", "state"}},
	{"gpusched_gpu_errors", Counter, "", "Errors that the driver reported of the GPU since the machine's boot, by their number (Xid).", []string{"gpu", "uuid", "xid"}},
}

// processTable is not named as by convention, process_…: node_exporter has these names for
// itself, and refuses a page in which they come twice.
var processTable = []Family{
	{"gpusched_process_cpu", Counter, "seconds", "CPU time of the daemon.", nil},
	{"gpusched_process_resident_memory", Gauge, "bytes", "Memory of the daemon.", nil},
	{"gpusched_process_virtual_memory", Gauge, "bytes", "Address space of the daemon.", nil},
	{"gpusched_process_open_fds", Gauge, "", "Open files of the daemon.", nil},
	{"gpusched_process_max_fds", Gauge, "", "Files that the daemon may have open.", nil},
	{"gpusched_process_start_time", Gauge, "seconds", "When the daemon was started, in Unix time.", nil},
	{"gpusched_process_goroutines", Gauge, "", "Goroutines of the daemon.", nil},
}
