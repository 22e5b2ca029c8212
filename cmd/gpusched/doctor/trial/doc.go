// Package trial is the test that 'gpusched doctor --test' runs in a job on each GPU. Probe collects
// what the job's user can see inside the job. Judge compares that with what the job was given.
//
// Invariants, cited by tests:
//
//  1. Probe changes nothing, and computes on no GPU but the job's. It asks the kernel whether a
//     device node could be opened; the device filter answers such questions, too.
//  2. A part that could not be checked is never reported as healthy.
package trial
