// Package tracked holds the jobs that have not ended: Job is one of them with the data that its
// record lacks, and Book lists and counts them.
//
// Two more books know jobs by their ids alone: who waits for whom (Dependencies), and which
// requests made which jobs (Requests). Nothing here decides; daemon/core does. Each book has
// methods that check whether its counts agree with the jobs.
package tracked
