// Package retry computes the delay before something that failed is tried again. The caller waits,
// and counts the failures.
package retry
