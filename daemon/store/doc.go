// Package store keeps the durable state of the scheduler in one SQLite file: jobs, their private
// payloads, their attempts, administrators' orders about GPUs and reservations, the usage of
// accounts, and run times.
//
// It decides nothing: it writes the records that it is given, and reads them back. It never opens a
// file that a user named, and never logs.
//
// Invariants, cited by tests. Check verifies the invariants about the data:
//
//  1. If a Commit has returned nil, all of its records are on disk. If a Commit has returned an
//     error, or has never returned, either all of its records are stored or none.
//  2. A failed Commit (full disk, I/O error) leaves the store usable: the next Commit succeeds as
//     soon as the cause is gone.
//  3. Ids of jobs and reservations are never given out twice, whatever has ended or was lost. They
//     only grow, even if the state file is lost.
//  4. The private part of a job is in the table payloads and nowhere else. Exception: the
//     parameters of an array are part of its request. No listing reads that table. A task of an
//     array has no payload of its own: it uses its array's payload.
//  5. Reads do not wait for the writer, and the writer does not wait for reads. The reads of a
//     submission or a start have connections of their own. Long reads of ended jobs take turns, and
//     are refused if they wait too long.
//  6. A file from a newer release is refused and stays unchanged. A file from an older release is
//     copied before it is changed. A damaged file is not changed: Quarantine moves it away whole. A
//     file that cannot be read does not count as damaged.
//  7. A job in a terminal state has a result. The current attempt of a job is the attempt with the
//     highest number. A request key names one job per user. A task of an array becomes one job.
//  8. When a job ends, its environment is removed from the file. The data that is kept about
//     ended jobs is bounded (see Forget), and so is the number of attempts of each job.
package store
