// Package job holds the values that every part of gpusched shares: a job's id, owner, request,
// private payload, state, attempts, result and the reasons for which it waits. It is pure: it has
// no clock, does no I/O, starts no goroutine, and imports only value packages of the standard
// library and the contract with the units.
//
// Invariants:
//
//  1. A State only moves along the transition table (state.go); a terminal state is never left.
//  2. GPU amounts are integers in thousandths of a GPU ("milli": 1000 is one whole GPU), memory is
//     in bytes, durations are time.Duration, or Span where JSON has seconds. No amount is stored as
//     a float.
//  3. A Job never carries the command, environment or directory of its submitter. They are in
//     Payload, which is stored and passed separately, so that no log line or listing can leak them.
//     The parameters of an array are part of its request: listings leave them out.
//  4. Every text that a user wrote and another user sees is printable: names, tags and comments
//     with control, format or invisible characters are refused (Printable).
//  5. Validation reports all problems at once (Problems), each kind once.
//  6. Sentences for people are codes with arguments (Message); package words has the wording. The
//     Sentence fields that clients read stay empty here: the server fills them in.
package job
