// Package server speaks HTTP and JSON on the daemon's unix sockets. It owns who is asking (from the
// kernel, at accept), what that person may do (the route table), and how much one client can make
// the daemon hold. It decides nothing about jobs or GPUs, which is up to the Backend. It never
// takes identity or resource limits from a request.
//
// Invariants:
//
//  1. Every route declares in the table (route.go) who may use it, and what it shows of others'
//     jobs. The right is enforced in one place, before the handler runs. For a request about many
//     jobs the backend enforces it, job by job.
//  2. A request has the identity of the process that called connect(), with the groups that this had
//     then. An administrator's account must also be in the group at the time of the request, by the
//     host's files or its directory: what is unknown gives no right. A group's quota counts both the
//     groups of the process and the members by the host's files. Resource limits are taken from that
//     process alone. Before and after reading them it must exist and belong to one user entirely.
//     Without them no job is accepted, nor from inside a sandbox unless the site allows that.
//  3. A job's command, environment and directory leave only towards its owner and administrators.
//     So does the name of a process on a GPU.
//  4. The cost of a request is bounded before it is read: connections in total and per user, header
//     and body size, the time to send them, long polls per user, and each user's request rate and
//     requests at once. Clients that send too many requests are throttled, then refused with a
//     retry time.
//  5. An unknown field, an unknown query word or trailing text is refused, never ignored.
//  6. Internal errors and panics are logged with a number and answered with that number alone. They
//     never end the process.
//  7. Every refused access, and everything done by an administrator's right, is a line of the audit
//     log. No client can fill the journal: such lines have a rate limit, and the lines left out are
//     counted.
package server
