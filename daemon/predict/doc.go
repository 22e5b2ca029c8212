// Package predict learns how long jobs run and how much memory they take. It is pure: its input is
// the attempts that ended and when they ended. It returns estimates, and records from which its
// knowledge can be restored. It never stops a job.
//
// For run times it learns the mean and the spread of the logarithm, since run times extend over
// many orders of magnitude. It learns them for four keys of each job, from the widest to the
// narrowest. The first key is the user. Each further key adds something to the key before it: the
// number of GPUs, the program, and the whole command. An Estimate begins with the mean and spread
// of all users' jobs. Then it moves towards what is known of each narrower key. The more runs are
// known of a key, the further the estimate moves.
//
// # Invariants
//
//  1. The expected run time of a running job is always longer than the time for which it has run.
//  2. Whatever was learned or is on record, estimates stay within the range of a Duration.
//  3. A restart forgets nothing: the records give the same estimates as before.
//  4. Knowledge about one user's jobs never evicts knowledge about another user's jobs.
package predict
