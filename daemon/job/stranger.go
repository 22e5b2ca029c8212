package job

import (
	"slices"
	"time"
)

// Stranger is the record of a foreign process on a GPU that jobs of other users have. The user of
// the process was told about it.
type Stranger struct {
	PID   int       `json:"pid"`
	Start uint64    `json:"start"` // in clock ticks since the boot
	UID   int       `json:"uid"`   // uid of the process's user
	Told  time.Time `json:"told"`
	Ends  time.Time `json:"ends,omitzero"` // when the process is ended, as its user was told; zero: no time was told
}

// Equal reports whether both are the same record.
func (s Stranger) Equal(o Stranger) bool {
	return s.PID == o.PID && s.Start == o.Start && s.UID == o.UID && s.Told.Equal(o.Told) && s.Ends.Equal(o.Ends)
}

// Strangers sums up processes of a user that use GPUs of other users' jobs.
type Strangers struct {
	UID       int
	Processes []StrangerProcess // the first few
	Count     int               // number of all processes
	Bytes     int64             // the known GPU memory of all processes
	GPUs      []StrangerGPU
	Ends      time.Time // when they are ended; zero: they are not
}

// StrangerProcess is one process of Strangers.
type StrangerProcess struct {
	PID  int
	Comm string
}

// StrangerGPU is a GPU that a process of Strangers uses, with the job that has had it longest.
type StrangerGPU struct {
	Index  int
	Job    ID
	Called string // the job's name for people
	User   string // the job's owner
	Since  time.Time
}

// maxStrangers is the largest number of processes, and of GPUs, that a message names.
const maxStrangers = 3

// Add adds a process that is on these GPUs.
func (s *Strangers) Add(pid int, comm string, bytes int64, on []StrangerGPU) {
	s.Count++
	s.Bytes += bytes
	if len(s.Processes) < maxStrangers {
		s.Processes = append(s.Processes, StrangerProcess{pid, comm})
	}
	for _, g := range on {
		same := func(o StrangerGPU) bool { return o.Index == g.Index }
		if len(s.GPUs) < maxStrangers && !slices.ContainsFunc(s.GPUs, same) {
			s.GPUs = append(s.GPUs, g)
		}
	}
}

// Say returns who uses what, for people who may not know the names of the programs.
func (s *Strangers) Say() Message {
	first, gpu := s.Processes[0].PID, s.GPUs[0]
	if s.Count > 1 {
		return Say("detail/strangers", first, s.Count-1, gpu.Index, gpu.Called)
	}
	return Say("detail/stranger", first, gpu.Index, gpu.Called)
}
