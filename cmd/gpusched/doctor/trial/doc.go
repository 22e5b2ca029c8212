// Package trial is what 'gpusched doctor --test' runs in a job on each GPU. Probe collects what the
// job's user can see inside the job, and Judge compares it with what the job was given.
//
// Invariants, cited by tests:
//
//  1. Probe changes nothing and wakes no GPU: it asks the kernel whether a device node could be
//     opened, which the device filter answers as well.
//  2. What could not be checked is never reported as healthy.
package trial
