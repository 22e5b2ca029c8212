package job

import "github.com/gpusched/gpusched/units/contract"

// Kept is the part of an attempt's state that was decided after its unit was made. The unit does
// not contain it, and the state file may be lost, so it is also stored in a separate file.
type Kept struct {
	TimeLimit Span           `json:"time_limit_seconds"`
	MemBytes  int64          `json:"mem_bytes,omitempty"`
	GPUs      []contract.GPU `json:"gpus,omitempty"` // those that it has now
	Suspension
	Parking
	MovedMemory
}
