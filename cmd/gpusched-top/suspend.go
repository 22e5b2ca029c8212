package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// canResume reports whether a shell could resume the program after SIGTSTP. The kernel ignores
// SIGTSTP for a process group without such a shell, for instance if sshd runs the program itself.
// The screen would then be lost for good.
func canResume() bool {
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

// parentOf returns the parent of a process, or 0 if it is unknown.
func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The process name, in parentheses, may contain any character.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}
