// Package server speaks HTTP and JSON on the daemon's unix sockets. It owns
// who is asking (from the kernel, at accept), what that person may do (the
// route table), and how much one client can make the daemon hold. It never
// decides anything about jobs or GPUs: that is the Backend's, and it never
// reads identity or resource limits from a request.
//
// Invariants:
//
//  1. Every route declares its right, and what it shows of others' jobs, in the
//     table (route.go); the right is enforced in one place before the handler
//     runs. For many jobs in one request the backend enforces it, for each job by
//     itself.
//  2. Identity is that of the process that called connect(), with the groups it
//     had then. An administrator is, besides, in the group by the host's files or
//     its directory at the time of the request: what is not known gives no right.
//     For a group's quota counts who is in it by either. Resource limits are taken only from that process, which is,
//     before and after reading them, there and wholly of the same user; without
//     them, and out of a sandbox unless the site says so, no job is taken.
//  3. A job's command, environment and directory leave only towards its owner
//     and admins; so does the name of a process on a GPU.
//  4. What a request may cost is bounded before it is read: connections in all
//     and per user, header and body size, the time to send them, long polls
//     per user, and how often and how many at once one user asks. Who asks too
//     often is first slowed down, and then told when to come back.
//  5. An unknown field, query word or trailing text is refused, never ignored.
//  6. Internal errors and panics are logged with a number and answered with
//     that number only; they never end the process.
//  7. Every refused access, and everything that was done by the right of an
//     administrator, is a line of the audit log. No client can fill the journal
//     with lines: they have a pace, and what is left out is counted.
package server
