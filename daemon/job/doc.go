// Package job holds the values that everything in gpusched speaks of: a job's
// id, owner, request, private payload, life cycle state, attempts, result and
// the reasons for which it waits. It is pure: no clock, no I/O, no goroutine,
// and nothing imported but the standard library's value packages.
//
// Invariants:
//
//  1. A State only moves along the transition table (state.go); a terminal
//     state is never left.
//  2. GPU amounts are integers in thousandths of a GPU ("milli": 1000 is one
//     whole GPU), memory is bytes, durations are time.Duration, or Span where JSON
//     has seconds. No float is ever stored.
//  3. A Job never carries the command, environment or directory of its
//     submitter: these are in Payload, which is stored and passed on its own,
//     so that no log line or listing can leak them. The parameters of an array
//     are with its request: who shows that leaves them out.
//  4. Every text that came from a user and is shown to another is printable:
//     names, tags and comments with control, format or shapeless characters are
//     refused (Printable).
//  5. Validation reports every problem at once (Problems), each kind once.
//  6. What there is to say to people is a code with arguments (Message): package
//     words has the sentences. A Sentence that clients read stays empty here: the
//     server fills it in.
package job
