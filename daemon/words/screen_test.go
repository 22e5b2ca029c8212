package words

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// The name of a session consists of its GPUs, the option --mode of the command, and the job's id.
// It has only characters that the name of a socket can have.
func TestScreenName(t *testing.T) {
	gpus := func(indexes ...int) (list []job.Allocation) {
		for _, i := range indexes {
			var g job.Allocation
			g.Index = i
			list = append(list, g)
		}
		return list
	}
	many := gpus()
	for i := range 64 {
		many = append(many, gpus(2*i)...)
	}
	for _, c := range []struct {
		milli int
		gpus  []job.Allocation
		task  *job.Task
		argv  []string
		want  string
	}{
		{1000, gpus(0), nil, []string{"python", "x.py", "--mode", "test"}, "gpujob_0_test_42"},
		{2000, gpus(0, 3), nil, []string{"python", "--mode=train"}, "gpujob_0,3_train_42"},
		{2000, gpus(0, 3), nil, []string{"python", "train.py"}, "gpujob_0,3_whole_42"},
		{1500, gpus(0, 3), nil, []string{"python", "--mode="}, "gpujob_0,3_shared_42"},
		{0, nil, nil, []string{"python", "--mode"}, "gpujob_none_cpu_42"},
		{0, nil, &job.Task{Array: 7, Index: 3}, []string{"python"}, "gpujob_none_cpu_7_3"},
		{1000, gpus(1), nil, []string{"x", "--mode", "../\x1b[2J.é"}, "gpujob_1_-----2J--_42"},
		{16000, gpus(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), nil, nil, "gpujob_0-15_whole_42"},
		{64000, many, nil, []string{"--mode", "a-mode-of-many-letters"}, "gpujob_64gpus_a-mode-of-many-l_42"},
	} {
		j := &job.Job{ID: 42, Attempt: &job.Attempt{GPUs: c.gpus}}
		j.Task = c.task
		j.Request = job.Request{GPUMilli: c.milli, Screen: true}
		if got := ScreenName(j, c.argv); got != c.want {
			t.Errorf("%q on %d GPUs is in %s, not %s", c.argv, len(c.gpus), got, c.want)
		}
		if j.Request.Screen = false; ScreenName(j, c.argv) != "" {
			t.Error("a job without a session has one")
		}
	}
}
