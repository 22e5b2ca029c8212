// Command fuzz runs every fuzz test of the tree for some seconds, and prints a
// line for each: its name, how many inputs it tried, how long that took.
//
//	go run ./packaging/test/fuzz                       each for a minute, on from what earlier runs found
//	go run ./packaging/test/fuzz -time 1s -fresh -own  a short look from the stored inputs alone, as 'make test-all' does
//	go run ./packaging/test/fuzz FuzzRequest FuzzJobRow
//
// It finds the tests by their names in the test files that need no build tag,
// so that a new one is run by being there. An input that fails is written below
// testdata/fuzz of its package, where 'go test' runs it ever after: commit it
// with the mend. The exit status is 0 only if nothing failed and something ran.
package main
