// Package gpus keeps what is known about the GPUs in the course of time. Book handles samples and
// error reports. It says which GPUs jobs may have, what jobs use of their GPUs, and what they leave
// behind.
//
// The package changes nothing about jobs except their counted use. Whatever else a sample means for
// jobs is returned as findings, and daemon/core acts on these.
package gpus
