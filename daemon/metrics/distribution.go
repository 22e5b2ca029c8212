package metrics

import (
	"sort"
	"time"
)

// These are upper bounds of the buckets, in seconds. longTimes are for the times that people wait,
// and shortTimes for the daemon's own work.
var (
	longTimes  = []float64{1, 10, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600}
	shortTimes = []float64{0.0001, 0.001, 0.005, 0.02, 0.1, 0.5, 2, 10}
)

// A Distribution counts durations in buckets.
type Distribution struct {
	bounds []float64 // upper bounds of the buckets, ascending
	counts []uint64  // counts by bucket; an additional last bucket counts larger values
	sum    float64
}

func newDistribution(bounds []float64) *Distribution {
	return &Distribution{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (d *Distribution) observe(took time.Duration) {
	seconds := max(0, took.Seconds()) // took is negative if the clock was set back
	d.counts[sort.SearchFloat64s(d.bounds, seconds)]++
	d.sum += seconds
}
