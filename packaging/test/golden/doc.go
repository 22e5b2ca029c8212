// Package golden compares what a test got with a file of its testdata, and writes that file with -update.
package golden
