// Package term writes for people and for spreadsheets: colours, times, tables that fit a terminal,
// and csv. It knows nothing about jobs except the form of times in the daemon's sentences.
//
// Text that another user chose is always filtered before it reaches a terminal. This package cleans
// the cells of tables. Callers clean other text with Clean.
package term
