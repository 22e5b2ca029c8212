// Package trial is the test that 'gpusched doctor --test' runs in a job on each GPU. Probe collects
// what the job's user can see inside the job. Judge compares this with what the job should have.
//
// Invariants, cited by tests:
//
//  1. Probe changes nothing, and computes only on the job's GPU. It does not open the device node
//     of a GPU, but asks the kernel whether the node could be opened. The device filter answers
//     such questions, too.
//  2. A part that could not be checked is never reported as healthy.
package trial
