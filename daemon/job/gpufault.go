package job

import "time"

// GPUFault is what a GPU needs after an error before it takes jobs again. It
// holds for one boot of the machine: a reboot resets the GPU, and what is wrong
// after it the driver says anew.
type GPUFault struct {
	Recovery string    `json:"recovery,omitempty"` // a Recovery of package gpu; "" nothing
	What     Message   `json:"what,omitzero"`      // the error, for people
	Job      ID        `json:"job,omitempty"`      // whose process it hit; 0 unknown
	At       time.Time `json:"at,omitzero"`
	Boot     string    `json:"boot,omitempty"`
	Seq      uint64    `json:"seq,omitempty"` // the line of the kernel's log up to which this is known

	RowsAccepted bool `json:"rows_accepted,omitempty"` // an administrator lets it work with a row that can't be replaced; outlives boots

	Left   GPULeft `json:"left,omitzero"`    // what a job left on it, which is not an error of the driver's
	Strays []Stray `json:"strays,omitempty"` // those on it by the last sample, ascending by pid
}

// With returns f in place of what errors told before; what a job left and what an
// administrator accepted stay.
func (g GPUFault) With(f GPUFault) GPUFault {
	f.Left, f.Strays, f.RowsAccepted = g.Left, g.Strays, g.RowsAccepted
	return f
}

// Anew returns what of g outlives the boot that it holds for.
func (g GPUFault) Anew() GPUFault { return GPUFault{RowsAccepted: g.RowsAccepted} }

// GPULeft is what stays on a GPU of a job that has ended: its memory is in use
// and nobody uses it. It holds until the memory is back.
type GPULeft struct {
	Job       ID        `json:"job,omitempty"`
	What      Message   `json:"what,omitzero"`        // for people; "" nothing
	BaseBytes int64     `json:"base_bytes,omitempty"` // so much was in use by nobody before the job came
	At        time.Time `json:"at,omitzero"`          // when the job ended
}

// Stray is a process of a job on a GPU that is outside of the unit of its job.
type Stray struct {
	Job   ID     `json:"job"`
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // in clock ticks since the boot

	Unsure bool `json:"unsure,omitempty"` // it may be older than the job, and is not ended
}

// Leftover says of an attempt that has ended what it left behind.
type Leftover struct {
	Job     ID
	Attempt int
	What    Message
}

// GPUError is an error that a GPU reported while a job had it.
type GPUError struct {
	GPU  int       `json:"gpu"`           // physical index
	Xid  int       `json:"xid,omitempty"` // the driver's number for it; 0: the GPU was lost without one
	What Message   `json:"what,omitzero"`
	At   time.Time `json:"at,omitzero"`
}
