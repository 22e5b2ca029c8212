package gpu

import "slices"

// XidClasses lists the Xids after which a GPU needs something. All other Xids are recorded and have
// no effect.
type XidClasses struct {
	Job, Drain, Reset, Reboot []int
}

// DefaultXids classifies the Xids for which NVIDIA's Xid catalogue names an action. A contained
// memory error (94) affects one job and leaves the GPU usable. A memory row that is marked for
// replacement (63) affects nobody. In both cases the driver no longer uses the bad memory;
// Device.RowsPending reports that the GPU should be reset some day.
func DefaultXids() XidClasses {
	return XidClasses{
		Job:    []int{13, 31, 43, 45, 68, 94},
		Drain:  []int{64},
		Reset:  []int{46, 48, 62, 74, 95, 110, 119, 120, 136, 140, 142, 143, 145, 146, 147, 148, 149, 150, 155, 156, 158},
		Reboot: []int{54, 78, 79, 151, 167},
	}
}

// Of returns what a GPU needs after the Xid. An Xid with code XidRecovery itself says what the GPU
// needs.
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

// XidName returns a few words about an Xid, or "" if it is unknown.
func XidName(code int) string {
	for _, n := range [...]struct {
		name  string
		codes []int
	}{
		{"exception in a kernel of the job", []int{13}},
		{"the job used a bad GPU address", []int{31}},
		{"the GPU gave up the job's work", []int{43}},
		{"the job's work was removed from the GPU", []int{45}},
		{"the GPU stopped", []int{46, 62}},
		{"double-bit ECC error", []int{48}},
		{"power cable not connected", []int{54}},
		{"a bad row of memory will be replaced", []int{63}},
		{"a bad row of memory could not be replaced", []int{64}},
		{"exception in video work of the job", []int{68}},
		{"NVLink error", []int{74, 145, 146, 147, 148, 149, 150, 155}},
		{"the GPU could not be started", []int{78, 142, 143}},
		{"the GPU has fallen off the bus", []int{79}},
		{"memory error that hit one program", []int{94}},
		{"memory error that hit the whole GPU", []int{95}},
		{"timeout while switching contexts", []int{109}},
		{"security fault", []int{110}},
		{"the GPU's own processor does not answer", []int{119, 120}},
		{"link training failed", []int{136}},
		{"uncorrected ECC error", []int{140}},
		{"key rotation failed", []int{151}},
		{"the driver's advice changed", []int{XidRecovery}},
		{"a part of the GPU will be retired", []int{156}},
		{"fatal timeout", []int{158, 167}},
	} {
		if slices.Contains(n.codes, code) {
			return n.name
		}
	}
	return ""
}
