// Command run runs the stages of 'make test' and 'make test-all' and sums them up.
//
//	go run ./packaging/test/run test         what 'make test' runs
//	go run ./packaging/test/run test-all     what 'make test-all' runs besides
//	go run ./packaging/test/run unit lint    these stages
//
// It prints a line when a stage starts and another when the stage ends, with the
// time since the beginning. Go tests run under gotestsum: a test that fails prints
// its output at once, behind the name of its stage. The events of all tests stay in
// .out/test/STAGE.json ('gotestsum tool slowest --jsonfile FILE' lists the slowest).
// The last line is "N passed, N failed". The exit status is 0 only if nothing
// failed and something ran.
//
// A stage that runs Go tests counts its tests and subtests; any other stage counts
// as one. A skipped test counts as failed: what a test needs is there, or is missing.
// A stage counts as failed when a stage that it needs has failed. One exception: a
// stage that asks another machine exits with 77 where that machine can't be reached;
// it then counts as neither, and the summary says so.
package main
