package cgroup

import (
	"path/filepath"
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
	limit, now, files := readNumber(dir, "memory.max"), readNumber(dir, "memory.current"), filePages(dir)
	if limit < 0 || now < 0 || files < 0 {
		return Unknown
	}
	return max(0, limit-max(0, now-files))
}
