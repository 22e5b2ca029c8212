package metrics

import "slices"

// A Type is the kind of a family.
type Type string

const (
	Counter   Type = "counter"   // only grows while the process lives
	Gauge     Type = "gauge"     // goes up and down
	Histogram Type = "histogram" // a distribution
	Info      Type = "info"      // always 1; the labels carry the information
)

// A Family is a metric with all its label values.
type Family struct {
	Name   string // name without the endings for unit and type
	Type   Type
	Unit   string // "" if the family counts things
	Help   string
	Labels []string
}

// FullName returns the name with the unit, as in OpenMetrics.
func (f *Family) FullName() string {
	if f.Unit == "" {
		return f.Name
	}
	return f.Name + "_" + f.Unit
}

// Exposed returns the name of the family's samples. A histogram has more endings.
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

// onGPU has the labels of samples about one GPU.
var onGPU = []string{"gpu", "uuid"}

var schedulerTable = []Family{
	{"gpusched_build", Info, "", "Version of the daemon.", []string{"version", "commit", "goversion"}},
	{"gpusched_up", Gauge, "", "Whether the scheduler works: 0 while it cannot be started or does not answer.", nil},
	{"gpusched_health", Gauge, "", "State of each part of 'gpusched health': 1 for the state that it is in, 0 for the others.", []string{"part", "state"}},
	{"gpusched_requests", Counter, "", "Requests on the control socket, by action and by result: ok, or the code of the error.", []string{"action", "code"}},
	{"gpusched_planner_pass", Histogram, "seconds", "How long each pass of the planner took.", nil},
	{"gpusched_loop_lag", Histogram, "seconds", "How long events and queries waited for the scheduler's loop.", nil},
	{"gpusched_commit", Histogram, "seconds", "How long transactions of the state file took, failed ones included.", nil},
	{"gpusched_commit_failures", Counter, "", "Transactions of the state file that failed. They are tried again.", nil},
	{"gpusched_sample", Histogram, "seconds", "How long it took to read all GPUs, failed readings included.", nil},
	{"gpusched_sample_failures", Counter, "", "Readings of the GPUs that failed.", nil},
	{"gpusched_last_sample_timestamp", Gauge, "seconds", "When the GPUs were last read, in Unix time. Absent until then.", nil},
	{"gpusched_host_memory", Gauge, "bytes", "Host memory that all jobs together may use.", nil},
	{"gpusched_host_memory_promised", Gauge, "bytes", "Host memory that running jobs requested, and what parked jobs hold in addition.", nil},
	{"gpusched_host_memory_parked", Gauge, "bytes", "Host memory for the GPU memory of parked jobs.", nil},
	{"gpusched_host_cpus", Gauge, "", "CPUs that can be allocated to jobs. Absent if CPUs are not counted.", nil},
	{"gpusched_host_cpus_promised", Gauge, "", "CPUs that are allocated to running jobs.", nil},
	{"gpusched_places", Gauge, "", "Maximum number of jobs that run at once (jobs.max_running).", nil},
	{"gpusched_places_taken", Gauge, "", "Jobs that are starting, running or ending.", nil},
	{"gpusched_drained", Gauge, "", "Whether an administrator keeps all jobs from starting ('gpusched daemon drain').", nil},
	{"gpusched_reservations", Gauge, "", "Advance reservations that have not ended.", nil},
}

var jobsTable = []Family{
	{"gpusched_jobs", Gauge, "", "Jobs that have not ended, by state and class. An array counts once, and each of its tasks from its start.", []string{"state", "class"}},
	{"gpusched_jobs_held", Gauge, "", "Queued jobs that are held, or that wait for a time or for another job.", nil},
	{"gpusched_oldest_queued_timestamp", Gauge, "seconds", "When the wait of the longest-waiting job that may start began, in Unix time. Absent if no job waits.", nil},
	{"gpusched_jobs_submitted", Counter, "", "Jobs and arrays that were queued.", nil},
	{"gpusched_jobs_ended", Counter, "", "Jobs and tasks that ended, by outcome.", []string{"outcome"}},
	{"gpusched_jobs_requeued", Counter, "", "Attempts after which a job went back to the queue, by cause: the attempt's outcome, such as failed, or why it was stopped.", []string{"cause"}},
	{"gpusched_job_wait", Histogram, "seconds", "How long jobs waited for their start, from their submission or return to the queue.", nil},
	{"gpusched_job_run", Histogram, "seconds", "How long attempts ran. Counted when they end.", nil},
	{"gpusched_user_jobs", Gauge, "", "Jobs that have not ended, by user. Users with few jobs are counted together as (other). Only with metrics.users.", []string{"user", "state"}},
	{"gpusched_user_gpus", Gauge, "", "GPUs allocated to the user's jobs, parts of a GPU as fractions. Only with metrics.users.", []string{"user"}},
}

var gpuTable = []Family{
	{"gpusched_gpu", Info, "", "Model and PCI address of each GPU.", []string{"gpu", "uuid", "model", "pci"}},
	{"gpusched_driver", Info, "", "Version of the driver, and the newest version of CUDA that it supports.", []string{"version", "cuda"}},
	{"gpusched_gpu_allocated", Gauge, "ratio", "The part of the GPU that is allocated to jobs.", onGPU},
	{"gpusched_gpu_jobs", Gauge, "", "Jobs on the GPU.", onGPU},
	{"gpusched_gpu_utilization", Gauge, "ratio", "The part of the time in which the GPU was busy, as the driver reports it.", onGPU},
	{"gpusched_gpu_memory", Gauge, "bytes", "Total memory of the GPU.", onGPU},
	{"gpusched_gpu_memory_used", Gauge, "bytes", "Memory of the GPU that is in use, as the driver reports it.", onGPU},
	{"gpusched_gpu_memory_promised", Gauge, "bytes", "Memory of the GPU that is reserved for the jobs that share it.", onGPU},
	{"gpusched_gpu_foreign_memory", Gauge, "bytes", "Memory of the GPU that is in use outside gpusched.", onGPU},
	{"gpusched_gpu_foreign_processes", Gauge, "", "Processes on the GPU that belong to no job.", onGPU},
	{"gpusched_gpu_temperature", Gauge, "celsius", "Temperature of the GPU.", onGPU},
	{"gpusched_gpu_power", Gauge, "watts", "Power draw of the GPU.", onGPU},
	{"gpusched_gpu_energy", Counter, "joules", "Energy that the GPU has used since the driver was loaded. Absent if the driver does not count it.", onGPU},
	{"gpusched_gpu_paused", Gauge, "", "Whether an administrator keeps new jobs off the GPU (pause or drain).", onGPU},
	{"gpusched_gpu_faulted", Gauge, "", "Whether a fault keeps new jobs off the GPU.", onGPU},
	{"gpusched_gpu_state", Gauge, "", "State of the GPU as in 'gpusched gpus': 1 for the state that it is in, 0 for the others.", []string{"gpu", "uuid", "state"}},
	{"gpusched_gpu_errors", Counter, "", "Errors of the GPU that the driver has reported since the machine booted, by Xid number.", []string{"gpu", "uuid", "xid"}},
}

// processTable does not use the conventional names process_…: node_exporter uses these names for
// itself, and rejects a page that repeats them.
var processTable = []Family{
	{"gpusched_process_cpu", Counter, "seconds", "CPU time that the daemon has used.", nil},
	{"gpusched_process_resident_memory", Gauge, "bytes", "Resident memory of the daemon.", nil},
	{"gpusched_process_virtual_memory", Gauge, "bytes", "Virtual memory of the daemon.", nil},
	{"gpusched_process_open_fds", Gauge, "", "Open files of the daemon.", nil},
	{"gpusched_process_max_fds", Gauge, "", "Maximum number of open files of the daemon.", nil},
	{"gpusched_process_start_time", Gauge, "seconds", "When the daemon was started, in Unix time.", nil},
	{"gpusched_process_goroutines", Gauge, "", "Goroutines of the daemon.", nil},
}
