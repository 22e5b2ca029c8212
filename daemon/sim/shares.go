package sim

import (
	"math/rand/v2"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Shares has the fair shares of users and groups that differ from the default. The default is 1 for
// a user and none for a group.
type Shares struct {
	Users, Groups map[string]int
	Member        map[string]string // each user's group, if any
}

// quotas returns the shares in the form that the core uses.
func (s *Shares) quotas() job.Quotas {
	q := job.Quotas{Users: map[string]job.Quota{}, Groups: map[string]job.Quota{}}
	for name, share := range s.Users {
		q.Users[name] = job.Quota{Share: share}
	}
	for name, share := range s.Groups {
		q.Groups[name] = job.Quota{Share: share}
	}
	return q
}

// A wave is a number of jobs of one GPU each that a user queues at the same time. The field jobs is
// that number on a machine with eight GPUs.
type wave struct {
	user string
	at   time.Duration
	jobs int
}

// drawWaves returns a function that draws jobs of 1 to 4 hours. All jobs of a user are of the same
// kind.
func drawWaves(list ...wave) func(Setting, *rand.Rand) []Job {
	return func(s Setting, rng *rand.Rand) []Job {
		var jobs []Job
		for _, w := range list {
			for range w.jobs * s.GPUs / 8 {
				jobs = append(jobs, Job{
					Submit: w.at, Run: drawTime(time.Hour, 4*time.Hour, rng), GPUMilli: 1000, User: w.user, Kind: w.user + "-sweep",
				})
			}
		}
		return jobs
	}
}

// fairShares returns scenarios in which each user's fair part of the machine is known.
func fairShares() []Scenario {
	a, b, c := wave{"a", 0, 600}, wave{"b", 6 * time.Hour, 100}, wave{"c", 18 * time.Hour, 100}
	away := []wave{{"a", 24 * time.Hour, 600}, {"b", 30 * time.Hour, 100}}
	for _, user := range []string{"e", "f", "g", "h", "i", "j", "k", "l", "m", "n"} {
		away = append(away, wave{user, 0, 8})
	}
	return []Scenario{
		{Name: "flood", What: "user a queues 75 jobs of 1 to 4 h per GPU, and user b a sixth of that six hours later", GPUs: 8,
			draw: drawWaves(a, b)},
		{Name: "sweep", What: "the jobs of flood, judged by their mean completion time", GPUs: 8, draw: drawWaves(a, b)},
		{Name: "third", What: "flood, and user c with as many jobs as b twelve hours after b", GPUs: 8, draw: drawWaves(a, b, c)},
		{Name: "shares", What: "users a and b, whose shares are 1 and 3, queue the same number of jobs at the same time", GPUs: 8,
			draw:   drawWaves(wave{"a", 0, 300}, wave{"b", 0, 300}),
			shares: Shares{Users: map[string]int{"a": 1, "b": 3}}},
		{Name: "groups", What: "users a, b and c are in one group and d in another; all queue the same number of jobs", GPUs: 8,
			draw: drawWaves(wave{"a", 0, 200}, wave{"b", 0, 200}, wave{"c", 0, 200}, wave{"d", 0, 200}),
			shares: Shares{Groups: map[string]int{"lab": 1, "class": 1},
				Member: map[string]string{"a": "lab", "b": "lab", "c": "lab", "d": "class"}}},
		{Name: "idle", What: "ten users use the machine for a day and leave; then user a floods the queue, and b comes", GPUs: 8,
			draw: drawWaves(away...)},
		{Name: "hour", What: "user a floods the queue, and user b comes an hour later", GPUs: 8,
			draw: drawWaves(a, wave{"b", time.Hour, 100})},
		{Name: "weekend", What: "user a has the machine for four days, nobody has it for three, then a and b come", GPUs: 8,
			draw: drawWaves(wave{"a", 0, 300}, wave{"a", 7 * day, 300}, wave{"b", 7 * day, 300})},
	}
}
