// Package cli is the command "gpuschedd sim". It reads a trace, replays it with package sim under
// each policy and seed, and prints the results as a table, as JSON or as a self-contained HTML
// page. It computes no figures itself.
package cli
