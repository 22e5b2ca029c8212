// Package words turns codes into sentences: why something was refused, why a
// job waits, how it ended, and what its owner is told. The terminal, the API and
// the journal have the same ones.
//
// Whoever shows a sentence to a person has it made there, for a Reader: with times in the reader's zone, and with the
// machine at the names of jobs where several were asked. The daemon makes the same in UTC, for scripts. No program
// reads one: what programs need is a code, an argument or a field of its own.
//
// It owns every sentence of the scheduler that names an option or a command,
// so that daemon/core, daemon/sched and daemon/job know none. It decides nothing.
//
// # Invariants
//
//  1. Each code that those packages name has a sentence here, which uses each of
//     its arguments; and each sentence here has a code that somebody names.
//  2. Each reason for waiting has a sentence of its own and one for a line in
//     which several GPUs share it.
//  3. A code without a sentence, as of a newer release, is printed as it is.
package words
