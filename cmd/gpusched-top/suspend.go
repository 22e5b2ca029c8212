package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// returns reports whether there is a shell that would bring the program back after it was
// stopped: of a process group without one, as where ssh runs the program itself, the kernel
// ignores the signal, and the screen would stay away for ever.
func returns() bool {
	group, pid := syscall.Getpgrp(), os.Getpid()
	session, err := unix.Getsid(pid)
	for err == nil {
		parent := parentOf(pid)
		if parent <= 1 {
			return false
		}
		if of, err := syscall.Getpgid(parent); err != nil || of != group {
			theirs, err := unix.Getsid(parent)
			return err == nil && theirs == session
		}
		pid = parent
	}
	return false
}

// parentOf is the parent of a process, 0 where it is not known.
func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in brackets, can have any character.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}
