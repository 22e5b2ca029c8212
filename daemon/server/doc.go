// Package server answers HTTP requests with JSON on the daemon's unix sockets. When a connection is
// accepted, the kernel says who the caller is. The package decides what callers may do, by the
// route table, and limits how much memory and computing time one client can cost the daemon. It
// decides nothing about jobs or GPUs: the Backend does. It never takes an identity or resource
// limits from a request.
//
// Invariants:
//
//  1. Every route declares in the table (route.go) who may use it, and how much it shows of other
//     users' jobs. The right is enforced in one place, before the handler runs. If a request is
//     about many jobs, the backend enforces the right for each job.
//  2. A request has the identity of the process that called connect(), with the groups that the
//     process had then. An administrator's account must also be in the group at the time of the
//     request, according to the host's files or its directory service. An unknown membership gives
//     no right. A group's quota counts both for processes with the group and for members by the
//     host's files. Resource limits are taken only from the process that connected. Before and
//     after the limits are read, that process must exist and belong to one user entirely. Without
//     these limits, no job is accepted. A job from inside a sandbox is refused as well, unless the
//     site allows it.
//  3. Only a job's owner and administrators can see the job's command, environment and directory.
//     The same applies to the name of a process on a GPU.
//  4. The cost of a request is limited before the request is read. There are limits for connections
//     in total and per user, for the sizes of header and body and the time to send them, for long
//     polls per user, and for the rate and the number of concurrent requests of each user. If a
//     client sends too many requests, they are first delayed, and then refused with the time to try
//     again.
//  5. An unknown field, an unknown query word or trailing text is refused, never ignored.
//  6. Internal errors and panics are logged with a number, and the client sees only that number.
//     They never end the process.
//  7. The audit log has a line for every refused access, and for everything that needed an
//     administrator's right. No client can fill the journal: such lines have a rate limit, and the
//     omitted lines are counted.
package server
