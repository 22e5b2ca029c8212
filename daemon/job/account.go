package job

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Usage is what an account has used, for quotas: micro-GPU-
// seconds decayed to a moment, of attempts that have ended or still run.
type Usage struct {
	Account string    `json:"account"` // "u1001" for a user by number, "gNAME" for a group
	Micro   int64     `json:"micro"`
	At      time.Time `json:"at"`

	Counts UsageCounts `json:"counts,omitzero"`
}

// UsageCounts is what is counted of an account besides its GPU time, as of then.
type UsageCounts struct {
	Charge int64           `json:"charge,omitempty"` // of all resources, for fair share
	Capped []time.Duration `json:"capped,omitempty"` // for how long jobs of each size could not start for its quotas
	Sizes  int             `json:"sizes,omitempty"`  // so many, the largest, could not then
}

// Prediction is how long jobs of one kind run.
type Prediction struct {
	Key     string        `json:"key"`     // made by the scheduler; it begins with the number of the user, and a space
	Typical time.Duration `json:"typical"` // the geometric mean, in which later runs weigh more
	Spread  float64       `json:"spread"`  // standard deviation of the natural logarithms
	Weight  float64       `json:"weight"`  // for how many runs these two stand
	Runs    int           `json:"runs"`    // that have ended
	Lengths []LengthShare `json:"lengths"` // how the last of them spread, by bins of the scheduler's
	At      time.Time     `json:"at"`

	// PeakBytes is the most memory that its runs took; the key says which. A record has either that
	// or run times, or with it in Typical the longest run.
	PeakBytes int64 `json:"peak_bytes,omitempty"`
}

// LengthShare is what part of runs is about so long.
type LengthShare struct {
	Bin  int     `json:"b"`
	Part float64 `json:"p"`
}

// Reservation keeps GPUs for some users over a time. Jobs of others are not
// started on them if they could still run when it begins.
type Reservation struct {
	ID     int64        `json:"id"`
	GPUs   []Allocation `json:"gpus"`
	From   time.Time    `json:"from"`
	To     time.Time    `json:"to"`
	Users  []Account    `json:"users,omitempty"`  // who may use them
	Groups []Group      `json:"groups,omitempty"` // of which groups' members too
	Reason string       `json:"reason,omitempty"`
	By     string       `json:"by"`
	At     time.Time    `json:"at"`
}

// Account names a user by number, with the name for people.
type Account struct {
	UID  int    `json:"uid"`
	User string `json:"user"`
}

// People are users and groups, for messages.
type People struct {
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// String names users and groups.
func (p People) String() string {
	who := slices.Clone(p.Users)
	for _, g := range p.Groups {
		who = append(who, "group "+g)
	}
	return cmp.Or(strings.Join(who, ", "), "nobody")
}

// For names those for whom the reservation is.
func (r *Reservation) For() (p People) {
	for _, u := range r.Users {
		p.Users = append(p.Users, u.User)
	}
	for _, g := range r.Groups {
		p.Groups = append(p.Groups, g.Name)
	}
	return p
}
