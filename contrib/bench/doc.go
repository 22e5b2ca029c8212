// Command bench measures gpusched on the machine it runs on, as root, next to
// a bare StartTransientUnit with the same properties and to systemd-run, in one
// run. It prints a Markdown table; contrib/bench/RESULTS.md keeps what was
// measured. 'make bench' runs it in a box, where nothing but the test is
// going on.
//
// The first instruction of a command is taken as the moment at which a shell
// opens a named pipe, which is the same for everything compared.
//
// Whatever is waited for has a limit, and the error names it (packaging/test/await).
package main
