// Package starts keeps track of the starts of units. Places knows which starts have a place and are
// under way, and Troubles knows whose starts fail. The package starts nothing itself; daemon/core
// does.
package starts
