// Command gpusched-notify sends one message about a job: it reads what to send, and
// where to, as JSON (contract.Message) from its standard input. It runs in a transient
// unit, as the job's user or, for one of the site's webhooks, as nobody's account, never
// as root; what it could not do it tells the service manager, whose status line 'gpusched
// show' has. The exit status says whether another try may do better.
//
// Invariants:
//
//  1. Nothing of a message reaches a shell, an argument besides the address, or more of a
//     mail's header than its own line.
//  2. It ends within its time, whatever a mail program, a server or a terminal does, and
//     keeps a bounded part of what these say.
//  3. It posts to the URL that it was given and follows no redirection.
//  4. Of a failure of one of the site's webhooks the status line has the kind alone: no
//     host, address or port. All of it is in the unit's journal.
package main
