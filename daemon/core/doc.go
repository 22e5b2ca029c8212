// Package core is the life cycle of all jobs as one pure state machine.
//
// Step consumes one Event at a given time and returns Effects: records to store, actions to start
// and replies to send, in this order: records are on disk before actions start (a Sample may start
// at once), and actions start before replies go out. The process that executes the effects may die
// between any two of them. The next core is made from the records by New; it goes on from there
// once a Listed event has told it which units exist.
//
// The core never reads a clock, never does I/O, starts no goroutine and holds no lock: one
// goroutine owns it.
//
// Its data is in books, each with private fields and its own methods: jobs (tracked), GPUs (gpus),
// accounts, estimates, starts and messages (outbox) are packages below this one; the queue and
// systemd are here. Methods of state only read the books and report what they allow. Methods that
// change a record or ask for an action belong to lifecycle if they carry one job from state to
// state, and to Core if they handle an event or a command.
//
// Invariants (Check verifies 1 to 4 and 11, and names the number):
//
//  1. Every known job that has not ended is in exactly one state. The queue holds exactly the
//     queued jobs that may start: not held, and waiting for neither a time nor another job. Only
//     time in the queue counts as waiting.
//  2. Jobs never hold more of a GPU than it has, and a job that holds GPUs holds all that it asked
//     for.
//  3. A job has at most one action under way whose answer counts, and none while it is queued. A
//     stop does not wait for an inspection, whose answer is void then.
//  4. A job with a unit has an attempt that has not ended; the exception is a unit that holds
//     nothing but the result of a job that has ended. The last attempt of a queued job has ended.
//  5. States change only as the transition table of daemon/job allows.
//  6. A unit is started only for an attempt that is on record, and at most once for each attempt:
//     in doubt the core first looks for the unit, and systemd refuses a second unit of the same
//     name.
//  7. A result is on record before the unit that reports it is collected.
//  8. A GPU that a job left is reassigned only after a later sample shows that nothing of the job
//     is on it, or an administrator says so. (If the site chooses so, processes that left the job's
//     unit do not count.) A GPU that needs something after an error is not reassigned in this boot
//     until the driver or an administrator says that it works again. A job that asks for whole GPUs
//     without foreign processes starts only after a sample that began after its placement, or
//     arrived with it, shows them free.
//  9. Replaying the records gives the stored state of the core.
//  10. A job is stopped for its use of GPUs only on the evidence of the sample that just arrived,
//     and only after a warning and its grace time: for idling if it used none of its
//     GPUs, for GPU memory if it exceeds its budget and another job lacks its own. Time without
//     good samples never counts against anybody. If the site kills stray processes, a job that
//     uses a GPU which it does not have is ended after the time for cleaning.
//  11. Everything counted or listed about jobs (who waits, who runs, what they weigh, hold and are
//     charged for, the limits of arrays, who waits for whom) agrees with the jobs themselves, and
//     a task's array lives as long as the task.
//  12. A running job's charge for fair share is fixed, except for GPUs that it shares while others
//     want them whole. A change of that charge is on record together with its accounts' use up to
//     then, so that a restart charges the same.
//  13. A message is on record as owed with the start or end that it reports, and stays so until it
//     is on record as sent or given up. So it is sent at least once, and a restart loses none.
//     Users take turns; the waiting messages of each user and of all, and those on their way, are
//     bounded. No message delays a job.
//  14. Users take turns at starting units. A slow start keeps no place, and delays only its own
//     user's starts.
package core
