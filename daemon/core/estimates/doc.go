// Package estimates learns how long jobs run and how much memory they take. It estimates both for
// other jobs.
package estimates
