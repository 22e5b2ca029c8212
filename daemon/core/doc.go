// Package core is the life cycle of all jobs as one pure state machine.
//
// Step consumes one Event at a given time and returns Effects: what must be
// made durable, what must be done, and what must be answered, in this order:
// records are durable before actions start (a Sample may start at once), and
// actions start before replies go out. Whoever executes the effects may die
// between any two of them; the next core, made from the records by New, goes on
// from there when it has been told by a Listed event which units exist.
//
// The core never reads a clock, never does I/O, starts no goroutine and holds
// no lock: one goroutine owns it.
//
// What it knows is in books, whose fields their own methods alone touch: of jobs
// (tracked), GPUs (gpus), accounts, estimates, starts and messages (outbox), each a
// package below, and of the queue and systemd here. Methods of state only tell what is
// in them and what they allow. What changes a record, or wants something done, is a
// method of lifecycle, where it is about what becomes of one job, or of Core, where it
// takes an event or a command.
//
// Invariants (Check verifies 1 to 4 and 11, and names the number):
//
//  1. Every job that is known and has not ended is in exactly one state; the
//     queue holds exactly those queued ones that may start: not held, waiting
//     for no time and for no other job. Only that time counts as waiting.
//  2. Jobs never hold more of a GPU than there is of it, and a job that holds
//     GPUs holds all that it asked.
//  3. A job has at most one action under way whose answer counts, and none while
//     it is queued: a stop does not wait for a look, whose answer is void then.
//  4. A job with a unit has an attempt that has not ended, but for a unit with nothing
//     left in it but the result of a job that has ended; a queued job's last attempt has
//     ended.
//  5. Only what the transition table of daemon/job allows happens to a state.
//  6. A unit is started only for an attempt that is on record, and for one
//     attempt at most once: after a doubt the unit is looked for first, and
//     systemd refuses a second unit of the same name.
//  7. A result is on record before the unit that tells it is collected.
//  8. A GPU that a job left is reassigned only after a sample taken later shows
//     that nothing of the job is on it, or an administrator says so. (Where the
//     site wants that, what left the job's unit is nothing of it.)
//     A GPU that needs something after an error is not reassigned in this boot
//     before the driver or an administrator has said that it is well again.
//     A job that is to have whole GPUs alone is started on them only after a
//     sample that began after its placement, or came in that moment, shows them free.
//  9. Replaying the records gives the durable state of the core.
//  10. A job is stopped for what it does with its GPUs only by what the sample
//     shows that came just now, after a warning and the time that this left it:
//     for idling where it used none of its GPUs, for GPU memory where it is over
//     its budget and another job is short of its own. Time that good samples do
//     not vouch for never counts against anybody. Where the site has strays ended,
//     a job that uses a GPU which it does not have is ended after the time for
//     cleaning.
//  11. What is counted or listed besides the jobs (who waits, who runs, what they
//     weigh, hold and are charged for, the limits of arrays, who waits for whom) is
//     what the jobs themselves say, and a task's array lives as long as the task.
//  12. What fair share counts of a running job is fixed, but for the GPUs that it
//     shares while others want them whole: a change of that is on record with what
//     its accounts have used up to then, so that a restart charges the same.
//  13. A message is owed on record with the start or end that it is about, and stays so
//     until it is on record as sent or given up: it is sent at least once, and a restart
//     forgets none. Users take turns; how many of each and of all wait, and how many are
//     on their way, is bounded. None of it holds up a job.
//  14. People take turns at the places in which units are started. A start that takes long
//     keeps none, and holds up the starts of its own person alone.
package core
