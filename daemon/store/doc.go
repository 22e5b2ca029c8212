// Package store keeps the durable state of the scheduler in one SQLite file:
// jobs, their private payloads, their attempts, what administrators decided
// about GPUs and reserved, what accounts have used, and how long jobs took.
//
// It decides nothing: it writes the records it is given and reads them back.
// It never opens a file named by a user and never logs.
//
// Invariants, cited by tests; Check verifies those of the data:
//
//  1. A Commit that returned nil is on disk, whole; one that returned an error
//     or never returned has changed nothing or everything, never a part.
//  2. A failed Commit (full disk, I/O error) leaves the store usable: the next
//     one works as soon as the cause is gone.
//  3. Ids of jobs and reservations are never given out twice, whatever was
//     ended or lost: the next ones only grow, over a lost state file too.
//  4. The private part of a job is in payloads and nowhere else, but for the
//     parameters of an array, which are with its request; no listing reads that
//     table. A task of an array has none: it uses its array's.
//  5. Reads do not wait for the writer, nor it for them. What a submission or a start asks has connections of its
//     own, which nobody else holds. What looks through many ended jobs takes turns, and is refused where its turn
//     does not come.
//  6. A file from a newer release is refused untouched; one from an older is
//     copied beside itself before it is changed. A damaged one is not changed
//     either: Quarantine moves it away, whole. What can't be read is not damage.
//  7. A job in a terminal state has a result; the current attempt of a job is
//     its highest; a request key names one job per user; a task of an array
//     becomes one job.
//  8. With the end of a job its environment leaves the file. What is kept of
//     ended jobs is bounded (Forget), and so are the attempts of each job.
package store
