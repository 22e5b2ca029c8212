// Command gpusched-notify sends one message: about a user's job, or about a user's processes on the
// GPU of another user's job. It reads a contract.Message as JSON from standard input; the message
// says what to send and where. It runs in a transient unit as the user who gets the message, or as
// an unprivileged user if it calls a webhook of the site. It runs as root only if the message is
// for root. It reports a failure in the unit's status line, which 'gpusched show' prints. Its exit
// status says whether another attempt may succeed.
//
// Invariants:
//
//  1. No part of a message reaches a shell or an argument, and no value spans more than one line of
//     a mail's header.
//  2. The command ends within its time limit, whatever a mail program, a server or a terminal does,
//     and keeps a bounded part of their output.
//  3. The command posts to the given URL and follows no redirection.
//  4. If a webhook of the site fails, the status line says only what kind of failure occurred,
//     without host, address or port. The unit's journal has the details.
package main
