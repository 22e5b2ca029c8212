package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Room returns how much more memory the control group can use before the kernel kills a process in
// it. The group and the slices above it may each have a limit; the limit with the least room
// counts. File pages that the kernel can drop count as free. The result is Unknown if there is no
// limit or it cannot be read.
func Room(root, group string) int64 {
	least := int64(Unknown)
	for at := filepath.Join("/", group); ; at = filepath.Dir(at) {
		if room := roomOf(filepath.Join(root, at)); room != Unknown && (least == Unknown || room < least) {
			least = room
		}
		if at == "/" {
			return least
		}
	}
}

// roomOf returns the room below the limit of one group.
func roomOf(dir string) int64 {
	limit, now := readNumber(dir, "memory.max"), readNumber(dir, "memory.current")
	if limit < 0 || now < 0 {
		return Unknown
	}
	raw, err := os.ReadFile(filepath.Join(dir, "memory.stat"))
	if err != nil {
		return Unknown
	}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && (name == "inactive_file" || name == "active_file") {
			now -= n
		}
	}
	return max(0, limit-max(0, now))
}
