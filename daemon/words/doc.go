// Package words makes sentences from codes. They say why a request was refused, why a job waits,
// how it ended, and what its owner is told. The terminal, the API and the journal use the same
// sentences.
//
// A program that shows a sentence to a person makes the sentence itself, for a Reader. Times are
// then in the person's time zone. If several machines were asked, the name of each job begins with
// its machine. The daemon makes the same sentences for scripts, with times in UTC. No program
// parses a sentence: everything that a program needs is a code, an argument or a field.
//
// All sentences of the scheduler that name an option or a command are in this package. The packages
// daemon/core, daemon/sched and daemon/job have no sentences. This package decides nothing.
//
// # Invariants
//
//  1. Each code that daemon/core, daemon/sched or daemon/job uses has a sentence here, which uses
//     all arguments of the code. Each sentence here has a code that is used somewhere.
//  2. Each reason for waiting has a sentence for one GPU. A reason that several GPUs can share also
//     has a sentence for all of them.
//  3. A code without a sentence, such as one from a newer release, is printed as it is.
package words
