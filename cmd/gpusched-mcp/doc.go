// Command gpusched-mcp lets an agent read the queue, and with --write act for the user who runs it.
// It speaks the Model Context Protocol over standard input and output. 'gpusched mcp' starts it.
//
// It has no rights of its own. Reads, and actions that need only a job's number, go to the
// scheduler's socket as the user. For submitting, changing and showing output it runs gpusched with
// arguments that no shell reads, as if the user had typed them. Checks, warnings and audit lines
// are therefore the same as for people.
//
// Invariants, cited by tests:
//
//  1. Without --write no tool changes anything.
//  2. The options of submit, resubmit and update are read from the tags of job.Request, job.Label
//     and job.Change: agents have the options that people have.
//  3. A value from an agent becomes exactly one argument, and never an option.
//  4. Job output is untrusted: control characters are removed, lengths are bounded, and the answer
//     says who wrote the text. Names need no cleaning: the scheduler accepts only printable ones.
//  5. Standard output carries nothing but the protocol.
//  6. Jobs of other users are changed only with --others. This holds for root and administrators,
//     too.
//  7. An argument with only one possible meaning is accepted, whatever its JSON type. The refusal
//     of any other argument names the field and says where it belongs.
package main
