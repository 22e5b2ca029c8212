package estimates

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// optimism measures how much longer than estimated a user's jobs ran, in GPU time. Many runs of
// seconds make a command look short. A user could exploit that: after such runs, a run of a day
// would go first as a short job, again and again. So if a user's jobs exceed their estimates much
// more than others' jobs do, the estimates of the user's waiting jobs are multiplied by the mean
// ratio of run time to estimate. To make long jobs look short, the user must then run short jobs
// for as long as the long ones. The data is not stored: it is learned anew after a restart.
type optimism struct {
	ran, foreseen float64 // decayed sums of GPU time
	lengths       float64 // the sum of squared run times, weighted by GPUs
}

// The sums cover the last optimismMemory of GPU time. leastForeseen is added to each user's
// foreseen sum. If a user's jobs exceed their estimates by less than the factor Outlier, that
// counts as chance. With an Outlier of 4 instead of 16, the average completion time in the public
// trace rose from 13.7 h to 15.1 h.
const (
	Outlier        = 16.0
	optimismMemory = float64(200 * time.Hour)
	leastForeseen  = float64(6 * time.Minute)
)

// observe counts an ended attempt, unless an administrator ended it.
func (u *optimism) observe(ran, expected time.Duration, milli int) {
	gpus := float64(max(milli, 1)) / job.WholeGPU
	keep := 1 / (1 + gpus*float64(ran)/optimismMemory)
	u.ran = keep * (u.ran + gpus*float64(ran))
	u.foreseen = keep * (u.foreseen + gpus*float64(min(ran, expected)))
	u.lengths = keep * (u.lengths + gpus*float64(ran)*float64(ran))
}

// outrunFactor returns how many times more this user's jobs exceeded their estimates than the jobs
// of all users did. If the result would be less than Outlier, it is 1.
func (u *optimism) outrunFactor(all *optimism) float64 {
	usual := (all.ran + leastForeseen) / (all.foreseen + leastForeseen)
	own := (u.ran + usual*leastForeseen) / (u.foreseen + leastForeseen)
	if own < Outlier*usual {
		return 1
	}
	return own / usual
}

// correct returns the corrected estimate of the user's waiting job. It lengthens the estimate at
// most to the mean length of the user's runs, weighted by GPU time.
func (u *optimism) correct(expected time.Duration, all *optimism) time.Duration {
	if u == nil || u.ran <= 0 {
		return expected
	}
	more := time.Duration(min(float64(expected)*u.outrunFactor(all), u.lengths/u.ran))
	return max(expected, more)
}
