// Package dst runs the whole daemon in a simulated world. The daemon's loop, committer, executor,
// sampler, lister, core and store are real. systemd, the GPUs, the kernel log, the disk and the
// clients are simulated, and all of them fail at times. One goroutine runs everything under a
// virtual clock, and one seed decides everything that happens.
//
// A seed gives a Plan: a list of entries with times. Each entry is a client's request or a fault.
// Seeds differ in the kinds of faults that they use, so that rare kinds occur together. The world
// carries the plan out (Run). Then all faults stop and the queue must drain. The duration of each
// call is drawn for that call alone, so that leaving an entry out changes little else. If a plan
// fails, Shrink leaves out as many of its entries as it can. People read the shrunk plan as a
// story.
//
// The disk of most runs is a model of package store: a commit is on disk whole or not at all, and
// after an error nobody knows which is true. Some runs also have a real state file (RunOn). If the
// daemon or the machine dies in the middle of a commit, each changed sector of that file is either
// new or old. After a restart, the file must contain what the model says.
//
// The package has nothing but tests, and no other package imports it.
//
// The world judges by what really happens in its units and on its GPUs, not by what the daemon has
// recorded.
//
// # Invariants, cited by the judge
//
//  1. Once a job was acknowledged, it is on record, with everything that was acknowledged about it.
//  2. A job or array task never has two runs at once, and the command of an attempt begins at most
//     once.
//  3. No GPU, GPU memory or host memory is promised twice among the jobs that really run.
//  4. Nothing is placed on a GPU that is unknown, lost, faulted, paused or drained according to
//     what the daemon was told. Nor is anything placed on a GPU that an ended job has not left.
//  5. Every job ends once, and its result is what really happened to its command: no success is
//     reported as a failure, and no failure as a success. When a job has ended, none of its
//     processes runs.
//  6. Each id is given to one job.
//  7. Each request key gives one job.
//  8. The daemon records each action before it acts. It answers a request only once the action is
//     done and recorded. A unit is collected once its result is on record, or if the job was told
//     to stop.
//  9. Within a day after the faults stop, every job has ended, every unit is gone and every GPU is
//     free.
//  10. core.Check holds after every step, and a restart would read the state that the daemon has.
//  11. Each run of a seed takes the same steps.
//  12. A job is stopped for its use of GPUs only if the site wants that. It is stopped for memory
//     only if it is over budget, was warned and given its time, and another job's promise is at
//     stake. It is stopped for idleness only if no sample has shown it computing since it was
//     warned.
//  13. When a job is placed, its owner is within the quotas of running jobs, GPUs and GPU-hours. So
//     are the groups that the owner is known to be in. When a job is submitted, its owner is
//     within the quotas of waiting jobs and bytes.
//  14. The daemon ends a process only if the site wants that and the process is outside all units.
//     In addition, a job of the process's user must have had its GPU when the process began, or
//     the daemon must have told the user about the process before, in time, and only once.
//  15. A user is charged for the time during which the user's jobs held GPUs, whatever the clocks
//     say. That time ends with the job, or when the scheduler learns of the job's end.
//  16. A job is placed only once all its dependencies are met, including those that were added
//     later.
//  17. If a job's owner updates the job, its priority does not rise. If an administrator raised a
//     job's priority, its owner's update gives the job no more of the machine.
//  18. If a job asked for a message about its start or end, the message is recorded as owed
//     together with that start or end. It is sent at least once or given up with a reason, and is
//     never recorded as sent if it was not. It arrives more than once only if the machine or the
//     daemon went down, or if the outcome of a try was unknown: a process that knows that a
//     message is sent does not send it again. At most one message of a user is sent at a time, and
//     at most eight in all.
//  19. A client may list the jobs, and then follow the events after the number that came with the
//     list. It then knows the state of each job, even after crashes and restarts. An event comes
//     only after the change that it reports is on record, and the numbers only grow.
//  20. If a job ends because it was stopped, its result names the cause of that stop, whatever its
//     exit status and whoever saw its end. A stop for a preemption or a requeue does not end a
//     job. A job does not end either if it exits because it was warned, and is to run again.
//  21. If a client is told that a job got a signal, the job did get it. A job is recorded as warned
//     only once its warning has reached it.
//  22. Once the faults have stopped, the memory limit of a job's unit is the one on record.
//  23. A parked job's processes are on no GPU, and its unit can't open its GPUs. The driver is given
//     only processes of the job, all of them. The memory limit of a parked job's unit has room for
//     the copies of its GPU memory. Once the faults have stopped, each parked job that wants its
//     GPUs gets them back by itself.
package dst
