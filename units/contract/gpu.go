package contract

// GPU is one GPU of a job's attempt and the job's part of it. The UUID is its
// identity; index and minor are what they were when the attempt was placed.
type GPU struct {
	UUID  string `json:"uuid"` // as the driver spells it
	Index int    `json:"index"`
	Minor int    `json:"minor,omitempty"` // of its node /dev/nvidia<Minor>

	Milli        int   `json:"milli,omitempty"`         // thousandths of it that the job holds; 0: all of it
	PromiseBytes int64 `json:"promise_bytes,omitempty"` // GPU memory kept for the job; 0: none
}
