package metrics

import (
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// AddView adds what the scheduler knows about the machine and its GPUs.
func (p *Page) AddView(v *job.View) {
	h := &v.Host
	p.AddTime("gpusched_last_sample_timestamp", v.SampledAt)
	p.Add("gpusched_host_memory", float64(h.MemBytes))
	p.Add("gpusched_host_memory_promised", float64(h.PromisedMem))
	p.Add("gpusched_host_memory_parked", float64(h.ParkedMem))
	if h.CPUs > 0 {
		p.Add("gpusched_host_cpus", float64(h.CPUs))
	}
	p.Add("gpusched_host_cpus_promised", float64(h.PromisedCPUs))
	p.Add("gpusched_places", float64(h.Places))
	p.Add("gpusched_places_taken", float64(h.Taken))
	p.AddBool("gpusched_drained", v.Drained != nil)
	p.Add("gpusched_reservations", float64(len(v.Reservations)))
	if v.Driver != "" {
		p.Add("gpusched_driver", 1, v.Driver, v.CUDA)
	}
	for i := range v.GPUs {
		p.addGPU(&v.GPUs[i])
	}
}

// addGPU adds one GPU. A value that the driver does not report has no sample.
func (p *Page) addGPU(g *job.GPUView) {
	index := strconv.Itoa(g.Index)
	add := func(name string, known bool, value float64) {
		if known {
			p.Add(name, value, index, g.UUID)
		}
	}
	p.Add("gpusched_gpu", 1, index, g.UUID, g.Name, g.PCI)
	var promised, foreign int64
	foreignCount := 0
	for _, s := range g.Shares {
		promised += s.PromiseBytes
	}
	for _, proc := range g.Processes {
		if proc.Job == 0 {
			foreignCount++
			foreign += max(0, proc.UsedBytes)
		}
	}
	add("gpusched_gpu_allocated", true, 1-float64(g.FreeMilli)/job.WholeGPU)
	add("gpusched_gpu_jobs", true, float64(len(g.Jobs)))
	fresh := g.State != job.GPUUnknown && g.State != job.GPULost
	add("gpusched_gpu_utilization", fresh && g.UtilPercent >= 0, float64(g.UtilPercent)/100)
	add("gpusched_gpu_memory", g.MemTotalBytes > 0, float64(g.MemTotalBytes))
	add("gpusched_gpu_memory_used", fresh && g.MemTotalBytes > 0, float64(g.MemUsedBytes))
	add("gpusched_gpu_memory_promised", true, float64(promised))
	add("gpusched_gpu_foreign_memory", fresh, float64(foreign))
	add("gpusched_gpu_foreign_processes", fresh, float64(foreignCount))
	add("gpusched_gpu_temperature", fresh && g.TempC >= 0, float64(g.TempC))
	add("gpusched_gpu_power", fresh && g.PowerMilliW >= 0, float64(g.PowerMilliW)/1000)
	add("gpusched_gpu_energy", fresh && g.EnergyMilliJ > 0, float64(g.EnergyMilliJ)/1000)
	p.AddBool("gpusched_gpu_paused", g.Control.Paused, index, g.UUID)
	p.AddBool("gpusched_gpu_faulted", g.State.Broken(), index, g.UUID)
	for _, s := range job.GPUStates() {
		p.AddBool("gpusched_gpu_state", g.State == s, index, g.UUID, string(s))
	}
}

// AddCensus adds the jobs that have not ended.
func (p *Page) AddCensus(c *job.Census) {
	for _, s := range job.States() {
		if s.Terminal() {
			continue
		}
		for _, class := range job.Classes() {
			p.Add("gpusched_jobs", float64(c.Jobs[job.CensusKey{State: s, Class: class}]), string(s), class.String())
		}
	}
	p.Add("gpusched_jobs_held", float64(c.Held))
	p.AddTime("gpusched_oldest_queued_timestamp", c.Oldest)
	for _, u := range c.Users {
		p.Add("gpusched_user_jobs", float64(u.Queued), u.Name, string(job.Queued))
		p.Add("gpusched_user_jobs", float64(u.Active), u.Name, string(job.Running))
		p.Add("gpusched_user_gpus", float64(u.Milli)/job.WholeGPU, u.Name)
	}
}

// AddHealth adds the health of each part. If two checks have the same name, the worse one counts.
func (p *Page) AddHealth(checks []job.Check) {
	var parts []string
	worst := map[string]job.Health{}
	for _, c := range checks {
		if _, known := worst[c.Name]; !known {
			parts = append(parts, c.Name)
			worst[c.Name] = c.Health
		}
		worst[c.Name] = job.Worst([]job.Check{{Health: worst[c.Name]}, c})
	}
	for _, part := range parts {
		for _, h := range []job.Health{job.Healthy, job.Degraded, job.Failing} {
			p.AddBool("gpusched_health", worst[part] == h, part, strings.ToLower(string(h)))
		}
	}
}

// Process is the resource use of the daemon's process.
type Process struct {
	CPU               time.Duration
	Resident, Virtual int64
	OpenFDs, MaxFDs   int64
	Started           time.Time
	Goroutines        int
}

// AddProcess adds the resource use of the daemon's process.
func (p *Page) AddProcess(use Process) {
	p.Add("gpusched_process_cpu", use.CPU.Seconds())
	p.Add("gpusched_process_resident_memory", float64(use.Resident))
	p.Add("gpusched_process_virtual_memory", float64(use.Virtual))
	p.Add("gpusched_process_open_fds", float64(use.OpenFDs))
	p.Add("gpusched_process_max_fds", float64(use.MaxFDs))
	p.AddTime("gpusched_process_start_time", use.Started)
	p.Add("gpusched_process_goroutines", float64(use.Goroutines))
}
