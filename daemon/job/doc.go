// Package job contains the values that all parts of gpusched share: a job's id, owner, request,
// private payload, state, attempts, result and the reasons why it waits. The package is pure: it
// has no clock, does no I/O and starts no goroutine. It imports only value packages of the standard
// library, and the contract with the units.
//
// Invariants:
//
//  1. A State changes only as the transition table (state.go) allows. A terminal state never
//     changes.
//  2. GPU amounts are integers in thousandths of a GPU ("milli": 1000 is one whole GPU). Memory is
//     in bytes. Durations are time.Duration, or Span where JSON has seconds. No amount is stored as
//     a float.
//  3. A Job never contains the command, environment or directory of its submitter. These are in
//     Payload, which is stored and passed separately, so that no log line or listing can leak them.
//     An array's parameters are part of its request, but listings leave them out.
//  4. Every text that one user wrote and another user sees is printable: names, tags and comments
//     with control, format or invisible characters are refused (Printable).
//  5. Validation reports all problems at once (Problems), each kind once.
//  6. Sentences for people are codes with arguments (Message); package words contains the wording.
//     This package leaves the Sentence fields that clients read empty: the server fills them in.
package job
