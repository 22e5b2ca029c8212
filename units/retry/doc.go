// Package retry computes the delay before the next try of something that failed. The caller waits, and counts the
// failures.
package retry
