package contract

// GPU is one GPU of an attempt, with the job's part of it. The UUID identifies the GPU. Index and
// minor number are those at the time of the placement.
type GPU struct {
	UUID  string `json:"uuid"` // in the driver's spelling
	Index int    `json:"index"`
	Minor int    `json:"minor,omitempty"` // number of its node /dev/nvidia<Minor>

	Milli        int   `json:"milli,omitempty"`         // thousandths of the GPU that the job holds; 0: all of it
	PromiseBytes int64 `json:"promise_bytes,omitempty"` // GPU memory reserved for the job; 0: none
}
