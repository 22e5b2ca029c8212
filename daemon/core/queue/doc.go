// Package queue is the queue of jobs that may start as soon as GPUs are free for them. Its Book plans
// when and where they start, forecasts their starts, and says what delays them. It starts no job:
// daemon/core carries out what it plans.
package queue
