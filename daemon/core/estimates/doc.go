// Package estimates learns how long jobs run and how much memory they take, and estimates both for
// other jobs.
package estimates
