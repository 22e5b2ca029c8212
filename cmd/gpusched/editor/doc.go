// Package editor lets ssh, and editors that work over ssh, into a job. The commands are ssh-config
// and proxy.
//
// The ssh of the user's computer runs proxy on this machine, through the machine's own sshd. The
// proxy finds the job, or queues one that does nothing, and waits for it. Then it runs an sshd
// inside the job as exec would, for this one connection: standard input and output are the
// connection. Everything runs as the user.
//
// Invariants, cited by tests:
//
//  1. Nothing but the connection is on standard output.
//  2. The host key is used only if nobody but the user and root can read or replace it.
//  3. Proxies that start at the same time queue one job.
//  4. A job for which nobody waits any more does not stay: it is cancelled or ends by itself.
package editor
