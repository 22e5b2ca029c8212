// Package estimates learns how long jobs run and what they take, and says what is to be expected of one.
package estimates
