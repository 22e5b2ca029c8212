// Package retry says how long to wait before the next try of what failed. It is a formula:
// whoever tries waits, and counts the failures.
package retry
