// Package tracked has the jobs that have not ended: Job is one of them with what is known of it beside its
// record, and Book lists and counts them.
//
// Beside them are the books that know jobs by their ids alone: who waits for whom (Dependencies), and which
// requests made which jobs (Requests). Nothing here decides; daemon/core does, and each book says with its check
// methods whether it counts what the jobs themselves say.
package tracked
