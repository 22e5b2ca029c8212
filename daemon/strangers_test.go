package daemon

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Health names the first of the strangers whose users were told, and counts the others. A process
// on two GPUs counts once. These do not count: a process on a GPU without a job, a process that
// nobody was told about, and a process of a job.
func TestHealthOfStrangers(t *testing.T) {
	told := time.Date(2026, 3, 1, 14, 10, 0, 0, time.Local)
	gpu := func(index int, jobs []job.ID, processes ...job.GPUProcess) job.GPUView {
		g := job.GPUView{GPU: job.GPU{Index: index, Processes: processes}}
		g.Jobs = jobs
		return g
	}
	bobs, two := job.GPUProcess{PID: 4711, UID: 1002, ToldAt: told}, job.GPUProcess{PID: 4712, UID: 1002, ToldAt: told}
	ends := bobs
	ends.EndsAt = told.Add(5 * time.Minute)
	held := []job.ID{12}
	for _, c := range []struct {
		gpus []job.GPUView
		want string
	}{
		{[]job.GPUView{gpu(0, held, job.GPUProcess{PID: 1, UID: 1002}, job.GPUProcess{PID: 2, Job: 12, ToldAt: told}), gpu(1, nil, bobs)}, ""},
		{[]job.GPUView{gpu(0, held, bobs), gpu(1, held, bobs)}, "process 4711 of bob uses GPU 0, which job 12 has; its user was told at 14:10:00"},
		{[]job.GPUView{gpu(0, held, ends, two)}, "process 4711 of bob uses GPU 0, which job 12 has; its user was told at 14:10:00 that it is ended at 14:15:00; 1 more like it"},
	} {
		got := checkStrangers(&job.View{GPUs: c.gpus}, func(int) string { return "bob" })
		if c.want == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || got[0].Detail != c.want || got[0].Health != job.Limited || got[0].Next == "" {
			t.Errorf("got %+v, want %q", got, c.want)
		}
	}
}
