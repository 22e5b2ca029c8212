// Package starts keeps track of the starts of units. Places knows which starts are under way and
// have a place, and Troubles knows whose starts fail. The package starts nothing itself;
// daemon/core does.
package starts
