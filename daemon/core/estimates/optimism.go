package estimates

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// optimism is how far a user's jobs outran what was expected of them, in GPU time. Many runs of
// seconds make a command look short; if one of a day then went first as a short job, and
// the next after some more such runs, the order could be bought with nothing. So what is expected of
// the waiting jobs of a user whose jobs outrun much more than others' is multiplied by what they ran
// for over what of that had been expected, in the mean: to look short a user has to run short jobs
// for as long as the long ones. It is not on
// record, and learned anew after a restart.
type optimism struct {
	ran, foreseen float64 // decayed sums of GPU time
	lengths       float64 // of the squares of run times, by GPUs
}

// The sums are of the last optimismMemory of GPU time, and leastForeseen counts as foreseen of any
// user besides. Up to the factor outlier jobs outrun others by chance: with 4 jobs of the public
// trace took 15.1 h in the mean instead of 13.7.
const (
	Outlier        = 16.0
	optimismMemory = float64(200 * time.Hour)
	leastForeseen  = float64(6 * time.Minute)
)

// observe takes in an attempt that is over, unless an administrator ended it.
func (u *optimism) observe(ran, expected time.Duration, milli int) {
	gpus := float64(max(milli, 1)) / job.WholeGPU
	keep := 1 / (1 + gpus*float64(ran)/optimismMemory)
	u.ran = keep * (u.ran + gpus*float64(ran))
	u.foreseen = keep * (u.foreseen + gpus*float64(min(ran, expected)))
	u.lengths = keep * (u.lengths + gpus*float64(ran)*float64(ran))
}

// factor is by how much more the user's jobs outran than those of all; 1 up to outlier.
func (u *optimism) factor(all *optimism) float64 {
	usual := (all.ran + leastForeseen) / (all.foreseen + leastForeseen)
	own := (u.ran + usual*leastForeseen) / (u.foreseen + leastForeseen)
	if own < Outlier*usual {
		return 1
	}
	return own / usual
}

// correct is what to expect of a waiting job of the user: no more than an hour of the user's GPU
// time is of in the mean.
func (u *optimism) correct(expected time.Duration, all *optimism) time.Duration {
	if u == nil || u.ran <= 0 {
		return expected
	}
	more := time.Duration(min(float64(expected)*u.factor(all), u.lengths/u.ran))
	return max(expected, more)
}
