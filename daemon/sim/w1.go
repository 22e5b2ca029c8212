package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// W1 draws jobs from the trace of a large machine, so that they are a load for a small machine.
// Arrival times are real. The jobs of each calendar day need Load times the time that the GPUs have
// on that day.
type W1 struct {
	GPUs int
	Load float64
	From time.Time // zero: the trace's first day
	Days int       // 0: all days
	Seed uint64
}

// These limit a job in W1.
const (
	w1MaxGPUs = 8
	w1MaxRun  = day
)

// These are streams of random numbers. There are several, so that one choice does not affect
// another.
const (
	streamDraw uint64 = iota + 1
	streamPreemptible
	streamPrediction
	streamPods
	streamGenerate
	streamScenario
	streamCheckpoints
	streamParkable
	streamMemory
)

func random(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// Draw draws the jobs. For each calendar day, it takes random jobs until the day's work is reached.
// If the last job exceeds that work, the excess is subtracted from the next day.
func (w W1) Draw(t Trace) Trace {
	pool := t.Window(w.From, w.Days)
	rng := random(w.Seed, streamDraw)
	target := int64(w.Load * float64(w.GPUs) * float64(day.Microseconds()) * 1000)
	var drawn []Job
	debt := int64(0)
	for first := 0; first < len(pool.Jobs); {
		end := first
		for end < len(pool.Jobs) && pool.Jobs[end].Submit/day == pool.Jobs[first].Submit/day {
			end++
		}
		today := w.eligible(pool.Jobs[first:end])
		rng.Shuffle(len(today), func(a, b int) { today[a], today[b] = today[b], today[a] })
		sum := debt
		for _, j := range today {
			if sum >= target {
				break
			}
			sum += j.work()
			drawn = append(drawn, j)
		}
		debt = max(0, sum-target)
		first = end
	}
	return newTrace(pool.Begin, drawn)
}

// eligible returns copies of the jobs that are small enough, with limited run times.
func (w W1) eligible(jobs []Job) []Job {
	var list []Job
	for _, j := range jobs {
		if j.GPUMilli > 0 && j.GPUMilli <= min(w1MaxGPUs, w.GPUs)*1000 {
			j.Run = min(j.Run, w1MaxRun)
			list = append(list, j)
		}
	}
	return slices.Clip(list)
}
