package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

func main() {
	args := append(os.Args[1:], "", "", "")
	switch args[0] {
	case "http":
		sendMalformed()
		submitForbidden()
		changeOthers(args[1])
	case "ask":
		fmt.Println(ask(request(args[1], args[2], "", "")))
	case "identity":
		identity(args[1])
	case "as-root":
		fmt.Print(asNamespaceRoot())
	case "inside":
		pid, _ := strconv.Atoi(args[2])
		attackFromJob(args[1], pid)
	case "inside-devices":
		openDevices(os.TempDir(), 1)
	case "flood":
		seconds, _ := strconv.Atoi(args[2])
		sendFlood(args[1], time.Duration(seconds)*time.Second)
	case "launch":
		seconds, _ := strconv.Atoi(args[1])
		watchLaunches(time.Duration(seconds) * time.Second)
	case "stopping":
		sayStopping()
	case "half-open":
		halfOpen()
	case "give":
		passDevice(args[1], args[2])
	case "take":
		takeDevice(args[1], args[2], args[3])
	case "latency":
		latency(args[1])
	default:
		fmt.Fprintln(os.Stderr,
			"attacker: http, ask, identity, inside, launch, stopping, half-open, give, take, flood or latency")
		os.Exit(2)
	}
}

var saying sync.Mutex // guards the standard output

// printAttempt prints the outcome of an attempt.
func printAttempt(subject, what string, refused bool, outcome any) {
	word := "HOLE"
	if refused {
		word = "refused"
	}
	saying.Lock()
	defer saying.Unlock()
	fmt.Printf("%s\t%s\t%q\t%.300q\n", word, subject, what, fmt.Sprint(outcome))
}

// printDenied prints the outcome of an attempt that the kernel must refuse.
func printDenied(subject, what string, err error) {
	printAttempt(subject, what, err != nil, err)
}
