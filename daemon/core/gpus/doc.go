// Package gpus keeps what is known about the GPUs over time. Book handles samples and error
// reports. It says which GPUs jobs may have, what they use of their GPUs, and what they leave
// behind.
//
// The package changes nothing about jobs except their counted use. What else a sample means for
// jobs is returned as findings, and daemon/core acts on them.
package gpus
