// Command mutate changes one operator of the pure packages at a time and looks
// whether a test of that package notices: mutation testing.
//
//	go run ./packaging/test/mutate                             half an hour, files drawn at random from each package
//	go run ./packaging/test/mutate -time 4h -seed 2
//	go run ./packaging/test/mutate -time 0 daemon/job          all files of a package, however long that takes
//	go run ./packaging/test/mutate -files timers.go,starvation.go daemon/core
//
// It works on a copy of the checkout, changes not committed included. There each
// operator of a package becomes a switch between itself and its mutants, so that a
// package is compiled once and the environment chooses the mutant: a comparison
// at its edge and negated, + for -, * for /, ++ for --, and a sign left out. What
// is not changed: constants' declarations, and lines on which a switch doesn't compile.
//
// Files are taken in turns, one of each package, in an order drawn from the seed, and
// none is begun after the time is over; so two runs with one seed and time on two
// commits compare. Tests run with -short, where those of daemon/sched that draw states
// try fewer (see drawing there), and rapid draws fewer cases, from one seed.
//
// A mutant is killed when a test fails or hangs, and has survived when all pass;
// one in code that no test of the package reaches has survived too. A survivor
// that changes nothing that anybody could see is listed in explained.txt with the
// reason, by file, change and text of its line; a test holds that each line there is
// still in its file. At the end there is a line for each package and the list of
// survivors that nobody explained. The exit status is 0 if every file that was
// begun could be judged. What was measured is in contrib/bench/RESULTS.md.
package main
