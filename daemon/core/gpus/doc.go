// Package gpus has what is known of the GPUs over time: Book takes samples and error reports, and says which GPUs
// jobs may have, what they use of them, and what they leave behind.
//
// Of jobs it changes nothing but what it counts of their use. What follows from a sample for a job it returns as
// findings, which daemon/core acts on.
package gpus
