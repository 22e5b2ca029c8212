// Command gpusched-mcp lets an agent read the queue. With --write the agent can also act for the
// user who runs the command. It speaks the Model Context Protocol over standard input and output.
// 'gpusched mcp' starts it.
//
// The command has no rights of its own. To read, and to act on a job by its number alone, it sends
// requests to the scheduler's socket as the user. To submit a job, to change it or to show its
// output, it runs gpusched as if the user had typed the command, but without a shell. Checks,
// warnings and audit lines are therefore the same as for people.
//
// Invariants, cited by tests:
//
//  1. Without --write no tool changes anything.
//  2. The options of submit, resubmit and update are read from the tags of job.Request, job.Label
//     and job.Change. Agents therefore have the same options as people.
//  3. A value from an agent becomes exactly one argument, and never an option.
//  4. Job output is untrusted. Control characters are removed, lengths are bounded, and the answer
//     names the user who wrote the text. Job names are not cleaned: the scheduler accepts only
//     printable names.
//  5. Standard output contains only the protocol.
//  6. Jobs of other users are changed only with --others. This also applies to root and
//     administrators.
//  7. An argument with only one possible meaning is accepted, whatever its JSON type. The refusal
//     of any other argument names the field and says where the argument belongs.
package main
