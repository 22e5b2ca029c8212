// Package golden compares test output with a file in testdata, and writes that file with -update.
package golden
