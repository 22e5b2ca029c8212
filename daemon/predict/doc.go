// Package predict learns how long jobs run and how much memory they take. It is pure: attempts that
// ended go in, with the moment at which they did. Estimates come out, and records from which they
// are restored. It never stops a job.
//
// For run times it learns the mean and the spread of the logarithm, since run times spread over
// many orders of magnitude. It does so for four keys of each job, from the widest to the narrowest:
// the user, then also the number of GPUs, then the program, then the whole command. An Estimate
// begins with what all users' jobs tell, and moves towards each narrower key the more runs that key
// has seen.
//
// # Invariants
//
//  1. The expected run time of a running job is always longer than what it ran.
//  2. Whatever was learned or is on record, estimates stay within the range of a Duration.
//  3. A restart forgets nothing: estimates from the records equal those before.
//  4. One user's jobs never evict what is known of another's.
package predict
