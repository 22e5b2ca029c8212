// Package tracked contains the jobs that have not ended. A Job is one of them: its record, and data
// that is not stored. Book lists and counts the jobs.
//
// Two more books know jobs only by id: Dependencies knows which jobs wait for which, and Requests
// knows which request made which job. The package decides nothing; daemon/core does. Each book has
// methods that check whether its counts agree with the jobs.
package tracked
