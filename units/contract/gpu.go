package contract

import "strconv"

// GPU is one GPU of an attempt, with the job's part of it. The UUID identifies the GPU. Index and
// minor number are those at the time of the placement.
type GPU struct {
	UUID  string `json:"uuid"` // in the driver's spelling
	Index int    `json:"index"`
	Minor int    `json:"minor,omitempty"` // number of its node /dev/nvidia<Minor>

	// These are the numbers of a slice's further nodes in /dev/nvidia-caps: of its GPU instance and of
	// its compute instance. 0: the GPU is not a slice.
	GICap int `json:"gi_cap,omitempty"`
	CICap int `json:"ci_cap,omitempty"`

	Milli        int   `json:"milli,omitempty"`         // thousandths of the GPU that the job holds; 0: all of it
	PromiseBytes int64 `json:"promise_bytes,omitempty"` // GPU memory reserved for the job; 0: none

	// HintMilli is the part of the GPU's memory that the job's frameworks are told to take (Hints), in
	// thousandths. 0: they are told nothing.
	HintMilli int `json:"hint_milli,omitempty"`
}

// IsSlice reports whether the GPU is a slice of a GPU in MIG mode. CUDA knows a slice only by its
// UUID.
func (g GPU) IsSlice() bool { return g.GICap > 0 }

// CapNodes returns the nodes that open a slice, in addition to the node of its GPU. The nodes can
// only be opened for reading.
func (g GPU) CapNodes() []string {
	if !g.IsSlice() {
		return nil
	}
	return []string{CapPrefix + strconv.Itoa(g.GICap), CapPrefix + strconv.Itoa(g.CICap)}
}
