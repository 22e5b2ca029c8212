// Package starts keeps track of the starts of units: which jobs have a place to start in (Places),
// and whose starts fail (Troubles). It starts nothing itself; daemon/core does.
package starts
