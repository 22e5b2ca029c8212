package alias

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// readSeff handles seff, which says how much of its CPUs and memory a job used.
func readSeff(c *Call, t tool, args []string) error {
	ids, err := t.parse(c, args, false)
	if err == nil && len(ids) != 1 {
		err = errors.New("name one job, such as seff 7")
	}
	if err != nil {
		return err
	}
	c.add("list", "--ended=10000", jobName(ids[0]))
	c.Check = func(jobs []api.Job, _ time.Time) error {
		if len(jobs) == 0 {
			return fmt.Errorf("there is no job %s", ids[0])
		}
		return nil
	}
	c.Table = func(jobs []api.Job, now time.Time) (lines []string) {
		for _, j := range jobs {
			lines = append(lines, efficiency(j, now)...)
		}
		return lines
	}
	return nil
}

// efficiency formats a job as seff does. A line about its GPUs says where more is known.
func efficiency(j api.Job, now time.Time) []string {
	state, has := stateOf(j).long, cpuTime(j, now)
	if j.State.Terminal() {
		code, _, _ := strings.Cut(exitOf(j), ":")
		state += " (exit code " + code + ")"
	}
	percent := func(part, whole float64) string {
		if whole == 0 {
			return "0.00%"
		}
		return fmt.Sprintf("%.2f%%", 100*part/whole)
	}
	lines := []string{
		"Job ID: " + rawID(j), "Cluster: localhost", "User/Group: " + j.User + "/" + j.User, "State: " + state,
		"Nodes: 1", "Cores per node: " + cpusOf(j), "CPU Utilized: " + usedCPU(j),
		"CPU Efficiency: " + percent(j.CPUSeconds, has.Seconds()) + " of " + longSpan(has) + " core-walltime",
		"Job Wall-clock time: " + longSpan(j.Elapsed(now)), "Memory Utilized: " + peakMem(j),
	}
	if j.MemBytes > 0 {
		lines = append(lines, "Memory Efficiency: "+percent(float64(j.PeakMemBytes), float64(j.MemBytes))+" of "+formatSize(j.MemBytes))
	}
	if j.GPUMilli > 0 {
		lines = append(lines, "GPUs: "+gresOf(j)+"; 'gpusched history "+j.ID.String()+" -w' says how busy they were")
	}
	return lines
}
