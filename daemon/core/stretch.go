package core

import "time"

// stretch is by how much longer jobs ran lately than was expected. What is expected of
// a job is its typical run time, and a few that run for much longer make
// others wait for longer than the typical ones would: in a forecast the mean counts.
// It is not on record, and learned anew after a restart.
type stretch struct {
	ran, expected float64 // decayed sums of GPU time
	runs          int
}

const (
	stretchMemory  = 200 // so many runs count
	stretchLeast   = 20  // of fewer than so many nothing is concluded
	longestStretch = 4
)

// observe takes in a job that ended by itself.
func (s *stretch) observe(ran, expected time.Duration, milli int) {
	if expected <= 0 {
		return
	}
	size := float64(max(milli, 1))
	s.ran += size*float64(ran) - s.ran/stretchMemory
	s.expected += size*float64(expected) - s.expected/stretchMemory
	s.runs++
}

// factor is what expected run times are multiplied by in a forecast, 1 to
// longestStretch.
func (s *stretch) factor() float64 {
	if s.runs < stretchLeast {
		return 1
	}
	return min(max(1, s.ran/s.expected), longestStretch)
}
