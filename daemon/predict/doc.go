// Package predict learns how long jobs run and how much memory they take. It is pure: attempts that ended go in, with
// the moment at which they did, and out come estimates and the records that restore them. It stops no job.
//
// What is learned of a run time is the mean and the spread of its logarithm, by four keys of a kind of job from the
// widest to the narrowest: the user, with the number of GPUs, with the program, with the whole command. An Estimate
// begins with what all users' jobs say, and is drawn towards each narrower key the more runs that key has seen.
//
// # Invariants
//
//  1. What is expected of a job that runs is always longer than what it ran.
//  2. Whatever was learned or is on record, estimates stay within the range of a duration.
//  3. A restart forgets nothing: estimates from the records equal those before.
//  4. One user's jobs cannot push out what is known of another's.
package predict
