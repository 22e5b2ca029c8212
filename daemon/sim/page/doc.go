// Package page draws a report on simulated runs: one HTML page that needs
// nothing else, with SVG in it.
//
// It never computes a figure of its own beyond what a drawing needs, and never
// writes a file.
//
// Invariants, cited by tests:
//
//  1. The page is well-formed XML and names no other resource.
//  2. Text from outside (names of policies, a title) is escaped.
//  3. The same runs give the same page.
package page
