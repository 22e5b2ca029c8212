package jobenv

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
)

// StrangersIn names the users who may have written a file or may replace it, except the caller and
// root. It returns "" if there are no such users. The text is meant to follow the file's name.
// Unless the caller agrees, a file of strangers must not run with the caller's rights. The argument
// info describes the open file.
func StrangersIn(a *cli.App, path string, info fs.FileInfo) string {
	if link, err := os.Lstat(path); err == nil && link.Mode()&fs.ModeSymlink != 0 && !a.Trusts(link) {
		return "is a link that belongs to " + accountOf(link)
	}
	if !a.Trusts(info) {
		return "belongs to " + accountOf(info)
	}
	if OthersWrite(a, path, info) {
		return "can be written by others"
	}
	dirs := []string{filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		dirs = append(dirs, filepath.Dir(real))
	}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			return "is in a directory that can't be looked at"
		case !a.Trusts(info):
			return "is in a directory that belongs to " + accountOf(info)
		case info.Mode()&fs.ModeSticky == 0 && OthersWrite(a, dir, info):
			return "is in a directory that others can write"
		}
	}
	return ""
}

// OthersWrite reports whether users other than the owner and the caller can write to a file or
// directory. A group counts only if it has other members.
func OthersWrite(a *cli.App, path string, info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode(); {
	case !ok || mode&0o002 != 0:
		return true
	case mode&0o020 == 0:
		return false
	}
	if n, err := syscall.Getxattr(path, "system.posix_acl_access", nil); err == nil && n > 0 {
		return true // if the file has an ACL, the group bits are the mask of all its entries
	}
	users, _ := os.ReadFile("/etc/passwd")
	groups, _ := os.ReadFile("/etc/group")
	own := func(uid int) bool { return ownGroup(string(users), string(groups), uid, int(st.Gid)) }
	return !own(int(st.Uid)) && !own(a.UID)
}

// ownGroup reports whether only a user and root are in a group. The group must have the user's name
// and no other members, and it must not be the primary group of another account. A group that only
// a directory service knows never counts, since many such services give the same numbers to users
// and groups.
func ownGroup(users, groups string, uid, gid int) bool {
	name, id, named := nameIn(users, uid), strconv.Itoa(gid), false
	for line := range strings.Lines(groups) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(f) != 4 || f[2] != id {
			continue
		}
		named = named || f[0] == name
		for member := range strings.SplitSeq(f[3], ",") {
			if member != "" && member != name && member != "root" {
				return false
			}
		}
	}
	for line := range strings.Lines(users) {
		f := strings.Split(line, ":")
		if len(f) > 3 && f[3] == id && f[2] != strconv.Itoa(uid) && f[2] != "0" {
			return false
		}
	}
	return named
}

// nameIn returns the name of a uid in the text of /etc/passwd, or "".
func nameIn(users string, uid int) string {
	for line := range strings.Lines(users) {
		if f := strings.Split(line, ":"); len(f) > 3 && f[2] == strconv.Itoa(uid) {
			return f[0]
		}
	}
	return ""
}

// accountOf returns the name of a file's owner, or the uid if it has no name.
func accountOf(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "another account"
	}
	users, _ := os.ReadFile("/etc/passwd")
	if name := nameIn(string(users), int(st.Uid)); name != "" {
		return name
	}
	return "uid " + strconv.Itoa(int(st.Uid))
}
