// Package gpus keeps what is known of the GPUs over time: Book takes samples and error reports, and
// says which GPUs jobs may have, what they use of them, and what they leave behind.
//
// It changes nothing about jobs except their counted use. The consequences of a sample for jobs are
// returned as findings, which daemon/core acts on.
package gpus
