// Command run runs the stages of 'make test' and 'make test-all' and prints a summary.
//
//	go run ./packaging/test/run test         what 'make test' runs
//	go run ./packaging/test/run test-all     what 'make test-all' runs in addition
//	go run ./packaging/test/run unit lint    these stages
//
// It prints a line when a stage starts and another line when the stage ends, with the time since
// the run began. Go tests run under gotestsum: a failing test prints its output at once, prefixed
// with the name of the stage. The events of all tests are kept in .out/test/STAGE.json ('gotestsum
// tool slowest --jsonfile FILE' lists the slowest). The last line is "N passed, N failed". The exit
// status is 0 only if nothing failed and something ran.
//
// If a stage runs Go tests, the summary counts its tests and subtests; any other stage counts as
// one test. A skipped test counts as failed, because everything that a test needs must be
// installed. If a stage fails, stages that need it fail too. There is one exception: a stage that
// cannot reach another machine exits with 77. That stage counts neither as passed nor as failed,
// and the summary says so.
package main
