// Package words turns codes into sentences: why a request was refused, why a job waits, how it
// ended, and what its owner is told. The terminal, the API and the journal use the same sentences.
//
// Programs that show a sentence to a person make it themselves, for a Reader: with times in the
// reader's zone, and with the machine in front of each job where several machines were asked. The
// daemon makes the same sentences in UTC, for scripts. No program parses a sentence: whatever a
// program needs is a code, an argument or a field.
//
// The package owns every sentence of the scheduler that names an option or a command, so
// daemon/core, daemon/sched and daemon/job contain none. It decides nothing.
//
// # Invariants
//
//  1. Each code that those packages name has a sentence here, which uses each of its arguments;
//     each sentence here has a code that is named somewhere.
//  2. Each reason for waiting has a sentence for one GPU and, where several GPUs share the reason,
//     one for them all.
//  3. A code without a sentence, as from a newer release, is printed as it is.
package words
