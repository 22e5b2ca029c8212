// Package core is the life cycle of all jobs as one pure state machine.
//
// Step handles one Event at a given time and returns Effects: records to store, actions to start
// and replies to send. They are executed in this order: records are on disk before actions start
// (only a Sample may start at once), and actions start before replies go out. The process that
// executes the effects may die between any two of them. New then makes the next core from the
// records. That core places no job until a Listed event has told it which units exist.
//
// The core never reads a clock, does no I/O, starts no goroutine and takes no lock: one goroutine
// owns it.
//
// Its data is split into books. Each book has private fields and its own methods. The books of jobs
// (tracked), GPUs (gpus), accounts, estimates, the queue, starts and messages (outbox) are packages
// below this one; systemd is a book in this package. Methods of state only read the books and
// report what they allow. A method that changes a record or asks for an action belongs to lifecycle
// if it moves one job from state to state, and to Core if it handles an event or a command.
//
// Invariants (Check verifies 1 to 4 and 11, and reports the number):
//
//  1. Every known job that has not ended is in exactly one state. The queue contains exactly the
//     queued jobs that may start, and the parked jobs that wait for their GPUs. A queued job may
//     start if it is not held, and waits for neither a time nor another job. Only time in the queue
//     counts as waiting.
//  2. The jobs on a GPU together never hold more than one whole GPU. A job that holds GPUs holds
//     all that it asked for. A parked job holds none, and gets back exactly those that it had.
//  3. A job has at most one action under way whose answer counts, and none while it is queued. A
//     stop may begin during an inspection; the answer to that inspection is then ignored.
//  4. A job with a unit has an attempt that has not ended, with one exception: a unit that contains
//     only the result of a job that has ended. The last attempt of a queued job has ended.
//  5. States change only as the transition table of daemon/job allows.
//  6. A unit is started only for an attempt that is on record, and at most once for each attempt.
//     If it is uncertain whether a unit was started, the core first looks for the unit. Moreover,
//     systemd refuses a second unit of the same name.
//  7. A result is on record before the unit that reports it is collected.
//  8. After a job has left a GPU, other jobs get the GPU only when a later sample shows that
//     nothing of the job is left on it, or when an administrator says so. (If the site chooses so,
//     processes that left the job's unit do not count.) If a GPU needs a reset or an inspection
//     after an error, it takes jobs in this boot only after the driver or an administrator says
//     that it works again. A job that asks for whole GPUs without foreign processes starts only if
//     a sample shows them free. That sample began after the job's placement, or arrived in the same
//     step.
//  9. A core made from the records has the same stored state as this one.
//  10. A job is stopped for its use of GPUs only if the sample that just arrived shows the reason,
//     and only after a warning and its grace time. The reason is idling if the job used none of
//     its GPUs. It is GPU memory if the job exceeds its budget while another job lacks memory
//     that it was promised. Time without good samples never counts against a job. If the site
//     kills stray processes, a job that uses a GPU which it does not hold is ended after the time
//     for cleaning.
//  11. Everything that is counted or listed about jobs agrees with the jobs themselves: who waits,
//     who runs, what they weigh, hold and are charged for, the limits of arrays, and who waits for
//     whom. A task's array lives as long as the task.
//  12. A running job's charge for fair share is fixed, with one exception: it may change for GPUs
//     that the job shares while others want them whole. Such a change is recorded together with
//     the use of the job's accounts up to then, so that a restart charges the same.
//  13. A message is recorded as owed together with the start or end that it reports. It stays owed
//     until it is recorded as sent or given up. So each message is sent at least once or given up,
//     and a restart loses none. Users take turns. Three numbers are bounded: the waiting messages
//     of each user, those of all users, and the messages being sent. No message delays a job.
//  14. Users take turns at starting units. A slow start gives up its place, so it delays only its
//     own user's starts.
//  15. Each step of parking a job and of unparking it is on record before the action for it, which
//     may be done twice. The driver copies only after the job's unit has host memory for the copies.
package core
