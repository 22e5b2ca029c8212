// Command gpusched-mcp lets an agent look at the queue, and with --write act for the user who runs
// it: it speaks the Model Context Protocol over its standard input and output. 'gpusched mcp' starts it.
//
// It has no right of its own. What it reads, and what takes no more than a job's number, it asks of the
// scheduler's socket as its user; submitting, changing and the output of jobs are gpusched's work, as if
// the user had typed it, with arguments that no shell reads. So every check, warning and audit line is
// the one that people have.
//
// Invariants, cited by tests:
//
//  1. Without --write there is no tool that changes anything, and none can be called.
//  2. The options of submit, resubmit and update are those of job.Request, job.Label and job.Change,
//     read off their tags: an option that people have an agent has.
//  3. A value that an agent gives is one argument, and never an option.
//  4. What jobs print is untrusted: control characters are taken out, lengths are bounded, and the
//     answer says whose words it is. Names are as the scheduler lets them in: printable.
//  5. Standard output carries the protocol alone.
//  6. Jobs of other users are changed only with --others, also for root and administrators.
//  7. An argument that can mean one thing only is taken, whatever JSON type it has. One that is refused is
//     refused in our own words, which name the field and say where it belongs.
package main
