// Command gpusched is the command line. This package contains only the program's name, its version
// and its settings of the Go runtime. Package client contains everything else.
package main
