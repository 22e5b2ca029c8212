// Package trial is what 'gpusched doctor --test' runs in a job on each GPU, and what
// it makes of the answer: Probe looks around inside of the job, as its user, and
// Judge compares what it found with what the job was given.
//
// Invariants, cited by tests:
//
//  1. Probe changes nothing, and wakes no GPU: it asks the kernel whether a device
//     node could be opened, which the device filter answers as well.
//  2. What could not be looked at is never said to be well.
package trial
