// Command bench measures gpusched on the machine it runs on, as root, in turns
// with others: a bare StartTransientUnit with the same properties, systemd-run,
// and, where they are installed, task-spooler and Slurm. It prints Markdown
// tables. 'make bench' runs it in a box, where nothing but the test is going
// on, and then compares (-compare) the ratios with those that were accepted,
// ratios.toml; RESULTS.md keeps what was measured.
//
// What is compared takes turns, round by round; package ratios says how sure a
// ratio is and whether it fell behind.
//
// The first instruction of a command is taken as the moment at which a shell
// writes into a named pipe, which is the same for everything compared.
//
// Whatever is waited for has a limit, and the error names it (packaging/test/await).
package main
