// Package hold is the holder of a job's terminal: a mode of gpusched-job, the first
// process of the job's unit, under the job's user and the job's device filter. It
// gives the command a pseudo-terminal, keeps the last of what it shows, prints the
// same into the journal, lets the owner attach from any number of terminals and run
// commands beside the job's, and ends as the command does.
//
// It never has more rights than the job, and asks nobody for any.
//
// Invariants, cited by tests:
//
//  1. Only the job's user and root are let in, whom the kernel names.
//  2. A client that does not read is dropped after stallTime; the command and the
//     others wait no longer for it, however many such there are.
//  3. Nothing that a client sends ends the holder, nor the command but by what is
//     typed into its terminal.
//  4. The holder ends when the command has, with its exit status or its signal.
package hold
