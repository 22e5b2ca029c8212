package job

import "time"

// GPUFault is what a GPU needs after an error before it takes jobs again. It is valid in one boot
// of the machine: a reboot resets the GPU, and the driver then reports again what is still wrong.
type GPUFault struct {
	Recovery string    `json:"recovery,omitempty"` // a Recovery of package gpu; "": nothing
	What     Message   `json:"what,omitzero"`      // the error, for people
	Job      ID        `json:"job,omitempty"`      // the job whose process the error hit; 0: unknown
	At       time.Time `json:"at,omitzero"`
	Boot     string    `json:"boot,omitempty"`
	Seq      uint64    `json:"seq,omitempty"` // number of the last line of the kernel's log that was counted

	RowsAccepted bool `json:"rows_accepted,omitempty"` // an administrator accepted a bad memory row; survives reboots

	Proved string `json:"proved,omitempty"` // the boot and driver with which CUDA last found the GPU well

	Left   GPULeft `json:"left,omitzero"`    // what a job left on the GPU; not an error of the driver
	Strays []Stray `json:"strays,omitempty"` // the stray processes of the last sample, by ascending pid

	Strangers []Stranger `json:"strangers,omitempty"` // the last sample's foreign processes whose users were told, by pid
}

// FaultCUDA is the code of the field What if CUDA fails on the GPU.
const FaultCUDA = "detail/cuda"

// OfCUDA reports whether CUDA fails on the GPU.
func (g *GPUFault) OfCUDA() bool { return g.What.Code == FaultCUDA }

// With returns f, except that it has g's leftovers, processes, test and acceptance of bad rows.
func (g GPUFault) With(f GPUFault) GPUFault {
	f.Left, f.Strays, f.RowsAccepted = g.Left, g.Strays, g.RowsAccepted
	f.Strangers, f.Proved = g.Strangers, g.Proved
	return f
}

// Anew returns the part of g that survives a reboot. The field Proved survives because it names its boot.
func (g GPUFault) Anew() GPUFault { return GPUFault{RowsAccepted: g.RowsAccepted, Proved: g.Proved} }

// GPULeft is GPU memory that stayed in use, without a process, after a job had ended. It applies
// until the memory is free again.
type GPULeft struct {
	Job       ID        `json:"job,omitempty"`
	What      Message   `json:"what,omitzero"`        // for people; "": nothing
	BaseBytes int64     `json:"base_bytes,omitempty"` // memory that was in use without a process before the job came
	At        time.Time `json:"at,omitzero"`          // when the job ended
}

// Stray is a process of a job that is on a GPU and outside the job's unit.
type Stray struct {
	Job   ID     `json:"job"`
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // in clock ticks since the boot

	Unsure bool `json:"unsure,omitempty"` // the process may be older than the job, so it is not killed
}

// Leftover is what an ended attempt left behind.
type Leftover struct {
	Job     ID
	Attempt int
	What    Message
}

// GPUError is an error that a GPU reported while a job had it.
type GPUError struct {
	GPU  int       `json:"gpu"`           // physical index of the GPU
	Xid  int       `json:"xid,omitempty"` // the driver's number of the error; 0: the GPU was lost without an error
	What Message   `json:"what,omitzero"`
	At   time.Time `json:"at,omitzero"`
}
