// Package hold is the holder of a job's terminal: a mode of gpusched-job, the first
// process of the job's unit, under the job's user and the job's device filter. It
// gives the command a pseudo-terminal, keeps the last of what it shows, prints the
// same into the journal, lets the owner attach from any number of terminals and run
// commands beside the job's, and ends as the command does.
//
// It never has more rights than the job, and asks nobody for any. The limits AS, DATA
// and NPROC are the commands' and not the holder's, which could not live under them.
//
// A job without a terminal has no holder. When its owner wants to run a command beside
// it, a door is opened: a process that does only that, and goes when it is not used. Only
// a process of the unit itself, or PID 1, can start one there. A holder for each job
// would cost each one memory; a second unit with the same properties would have its own
// memory and task limits beside the job's, and would have to be recorded and recovered.
// So systemd is asked to reload the unit, as for a note in its journal (package
// daemon/notes): it runs gpusched-job there, as the user, under the job's filter and
// limits, which leaves the door behind.
//
// Invariants, cited by tests:
//
//  1. Only the job's user and root are let in, whom the kernel names; nobody else is
//     read from, and keeps those out.
//  2. A client that does not read is dropped after stallTime; the command and the
//     others wait no longer for it, however many such there are.
//  3. Nothing that a client sends ends the holder, nor the command but by what is
//     typed into its terminal.
//  4. A command beside the job's is hung up on, and then killed, when its client goes or
//     the job ends.
//  5. The holder ends when the command has, with its exit status or its signal.
//  6. A process in a sandbox that the job is not in is not let in, whosever it is, unless
//     the site takes jobs from such.
package hold
