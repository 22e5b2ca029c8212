// Package starts knows how the starts of units go: who has a place to be started in (Places), and whose starts
// fail (Troubles). It starts nothing; daemon/core does.
package starts
