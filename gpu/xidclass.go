package gpu

import "slices"

// XidClasses says what a GPU needs after which Xids. One that is in no list is
// written down and changes nothing.
type XidClasses struct {
	Job, Drain, Reset, Reboot []int
}

// DefaultXids follows NVIDIA's catalogue of Xids, where that names an action. An
// error of the memory that was contained (94) hit one job and leaves the GPU as it
// was, a row that is marked to be replaced (63) nobody: the driver keeps both away
// from further work. Device.RowsPending reports the reset that is due some day.
func DefaultXids() XidClasses {
	return XidClasses{
		Job:    []int{13, 31, 43, 45, 68, 94},
		Drain:  []int{64},
		Reset:  []int{46, 48, 62, 74, 95, 110, 119, 120, 136, 140, 142, 143, 145, 146, 147, 148, 149, 150, 155, 156, 158},
		Reboot: []int{54, 78, 79, 151, 167},
	}
}

// Of returns what a GPU needs after the Xid. XidRecovery says it itself.
func (c XidClasses) Of(x Xid) Recovery {
	if x.Code == XidRecovery {
		return x.Recovery
	}
	switch {
	case slices.Contains(c.Reboot, x.Code):
		return RecoverReboot
	case slices.Contains(c.Reset, x.Code):
		return RecoverReset
	case slices.Contains(c.Drain, x.Code):
		return RecoverDrain
	case slices.Contains(c.Job, x.Code):
		return RecoverJob
	}
	return RecoverNothing
}

// XidName says in a few words what an Xid means, "" where that is not known.
func XidName(code int) string {
	for _, n := range [...]struct {
		name  string
		codes []int
	}{
		{"exception in a kernel of the job", []int{13}},
		{"the job used a bad GPU address", []int{31}},
		{"the GPU gave up the job's work", []int{43}},
		{"the job's work was taken off the GPU", []int{45}},
		{"the GPU stopped", []int{46, 62}},
		{"double-bit ECC error", []int{48}},
		{"power cable not connected", []int{54}},
		{"a bad row of memory is to be replaced", []int{63}},
		{"a bad row of memory could not be replaced", []int{64}},
		{"exception in video work of the job", []int{68}},
		{"NVLink error", []int{74, 145, 146, 147, 148, 149, 150, 155}},
		{"the GPU could not be started", []int{78, 142, 143}},
		{"the GPU has fallen off the bus", []int{79}},
		{"memory error that hit one program", []int{94}},
		{"memory error that hit the whole GPU", []int{95}},
		{"time-out in switching work", []int{109}},
		{"security fault", []int{110}},
		{"the GPU's own processor does not answer", []int{119, 120}},
		{"link training failed", []int{136}},
		{"ECC error that was not corrected", []int{140}},
		{"key rotation failed", []int{151}},
		{"the driver's advice changed", []int{XidRecovery}},
		{"a part of the GPU is to be retired", []int{156}},
		{"fatal time-out", []int{158, 167}},
	} {
		if slices.Contains(n.codes, code) {
			return n.name
		}
	}
	return ""
}
