// Package editor lets ssh, editors that work over ssh, and browsers into a job. The commands are
// ssh-config, proxy and jupyter.
//
// The ssh of the user's computer runs proxy on this machine, through the machine's own sshd. The
// proxy finds the job, or queues one that does nothing, and waits for it. Then it runs an sshd
// inside the job as exec would, for this one connection: standard input and output are the
// connection. Everything runs as the user.
//
// For jupyter, a program of ours in the job runs Jupyter. It passes the port and the token of
// Jupyter to the user in a file, and ends Jupyter when nobody uses it.
//
// Invariants, cited by tests:
//
//  1. Nothing but the connection is on standard output.
//  2. The host key is used only if nobody but the user and root can read or replace it.
//  3. Proxies that start at the same time queue one job.
//  4. A job for which nobody waits any more does not stay: it is cancelled or ends by itself.
//  5. Other users never learn the token of a notebook, and without it get nothing from the
//     notebook.
package editor
