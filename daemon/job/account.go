package job

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Usage is the GPU time that an account's attempts have used, including running ones. It is in
// micro-GPU-seconds, and decayed to the moment At. Quotas use it.
type Usage struct {
	Account string    `json:"account"` // "u1001" for a user by number, "gNAME" for a group
	Micro   int64     `json:"micro"`
	At      time.Time `json:"at"`

	Counts UsageCounts `json:"counts,omitzero"`
}

// UsageCounts are the further counts of a Usage, as they were at Usage.At.
type UsageCounts struct {
	Charge int64           `json:"charge,omitempty"` // GPU time charged for all resources, for fair share
	Capped []time.Duration `json:"capped,omitempty"` // for each size of job, how long quotas kept such jobs from starting
	Sizes  int             `json:"sizes,omitempty"`  // how many sizes, the largest ones, quotas held back at that time
}

// Prediction is the expected run time of one kind of job.
type Prediction struct {
	Key     string        `json:"key"`     // made by the scheduler; begins with the user's number and a space
	Typical time.Duration `json:"typical"` // geometric mean, in which later runs weigh more
	Spread  float64       `json:"spread"`  // standard deviation of the natural logarithms of the run times
	Weight  float64       `json:"weight"`  // the number of runs that Typical and Spread summarize
	Runs    int           `json:"runs"`    // number of runs that have ended
	Lengths []LengthShare `json:"lengths"` // the distribution of the latest run times, by the scheduler's bins
	At      time.Time     `json:"at"`

	// PeakBytes is the most memory that the runs took; the key says whether it is GPU or host
	// memory. A record has either PeakBytes or run times. If it has PeakBytes, Typical may contain
	// the longest run.
	PeakBytes int64 `json:"peak_bytes,omitempty"`
}

// LengthShare is the share of runs whose lengths fall into one bin.
type LengthShare struct {
	Bin  int     `json:"b"`
	Part float64 `json:"p"`
}

// Reservation keeps GPUs for some users for a span of time. A job of another user does not start on
// these GPUs if it could still run when the reservation begins.
type Reservation struct {
	ID     int64        `json:"id"`
	GPUs   []Allocation `json:"gpus"`
	From   time.Time    `json:"from"`
	To     time.Time    `json:"to"`
	Users  []Account    `json:"users,omitempty"`  // the users who may use the GPUs
	Groups []Group      `json:"groups,omitempty"` // the groups whose members may also use the GPUs
	Reason string       `json:"reason,omitempty"`
	By     string       `json:"by"`
	At     time.Time    `json:"at"`
}

// Account is a user's number and name. The name is for people.
type Account struct {
	UID  int    `json:"uid"`
	User string `json:"user"`
}

// People are users and groups, to be named in messages.
type People struct {
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// String lists the users, then the groups.
func (p People) String() string {
	who := append(slices.Clone(p.Users), Each(p.Groups, func(g string) string { return "group " + g })...)
	return cmp.Or(strings.Join(who, ", "), "nobody")
}

// For returns the users and groups that may use the reserved GPUs.
func (r *Reservation) For() (p People) {
	for _, u := range r.Users {
		p.Users = append(p.Users, u.User)
	}
	for _, g := range r.Groups {
		p.Groups = append(p.Groups, g.Name)
	}
	return p
}
