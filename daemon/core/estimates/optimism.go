package estimates

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// optimism is how far a user's jobs outran their estimates, in GPU time. Many runs of seconds make
// a command look short. If one run of a day then went first as a short job, and another after some
// more short runs, places in the order could be bought for nothing. So for a user whose jobs outrun
// their estimates much more than others' do, the estimates of waiting jobs are multiplied by the
// mean ratio of run time to estimate: to look short, a user must run short jobs for as long as the
// long ones. This is not stored, but learned anew after a restart.
type optimism struct {
	ran, foreseen float64 // decayed sums of GPU time
	lengths       float64 // the sum of squared run times, weighted by GPUs
}

// The sums cover the last optimismMemory of GPU time. Each user is credited with leastForeseen as
// foreseen. Up to the factor Outlier, jobs outrun others by chance: with 4, jobs of the public
// trace took 15.1 h in the mean instead of 13.7.
const (
	Outlier        = 16.0
	optimismMemory = float64(200 * time.Hour)
	leastForeseen  = float64(6 * time.Minute)
)

// observe counts an ended attempt that no administrator ended.
func (u *optimism) observe(ran, expected time.Duration, milli int) {
	gpus := float64(max(milli, 1)) / job.WholeGPU
	keep := 1 / (1 + gpus*float64(ran)/optimismMemory)
	u.ran = keep * (u.ran + gpus*float64(ran))
	u.foreseen = keep * (u.foreseen + gpus*float64(min(ran, expected)))
	u.lengths = keep * (u.lengths + gpus*float64(ran)*float64(ran))
}

// factor returns how much more this user's jobs outran their estimates than everyone's did. It is
// 1 if that is less than Outlier.
func (u *optimism) factor(all *optimism) float64 {
	usual := (all.ran + leastForeseen) / (all.foreseen + leastForeseen)
	own := (u.ran + usual*leastForeseen) / (u.foreseen + leastForeseen)
	if own < Outlier*usual {
		return 1
	}
	return own / usual
}

// correct returns the corrected estimate of the user's waiting job. It is at most the mean length
// of the runs that the user's GPU time consists of.
func (u *optimism) correct(expected time.Duration, all *optimism) time.Duration {
	if u == nil || u.ran <= 0 {
		return expected
	}
	more := time.Duration(min(float64(expected)*u.factor(all), u.lengths/u.ran))
	return max(expected, more)
}
