// Package term writes for people and for spreadsheets: colours, times, tables that fit a terminal,
// and csv. Of jobs it knows only the form of times in the daemon's sentences.
//
// Nothing that another user chose reaches a terminal unfiltered: this package cleans the cells of
// tables, and callers clean other text with Clean.
package term
