package launch

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// aclName and aclVersion are from linux/posix_acl_xattr.h. An entry consists of a tag, permissions
// and the id to which they apply.
const (
	aclName    = "system.posix_acl_access"
	aclVersion = 2
	aclEntry   = 8
)

// The tags of linux/posix_acl.h, in the order that a list must have.
const (
	aclOwner = 0x01
	aclUser  = 0x02
	aclGroup = 0x04
	aclMask  = 0x10
	aclOther = 0x20
)

const (
	aclRead   = 4
	aclWrite  = 2
	aclNobody = ^uint32(0) // the id of entries that apply to no particular user
)

// grant lets the user uid read a file of ours, through an access control list, and do no more. If
// the user owned the file instead, they could change its mode and write to it, and so fill the
// memory that holds the file.
func grant(fd, uid int) error {
	list := binary.LittleEndian.AppendUint32(nil, aclVersion)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{
		{aclOwner, aclRead | aclWrite, aclNobody}, {aclUser, aclRead, uint32(uid)}, {aclGroup, 0, aclNobody},
		{aclMask, aclRead, aclNobody}, {aclOther, 0, aclNobody},
	} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	err := unix.Fsetxattr(fd, aclName, list, 0)
	if errors.Is(err, unix.ENOTSUP) {
		return fmt.Errorf("its file system has no access control lists (CONFIG_TMPFS_POSIX_ACL): %w", err)
	}
	return err
}

// grantedUser returns the user who may read the file according to its access control list.
func grantedUser(path string) (uid int, ok bool) {
	var list [256]byte
	n, err := unix.Lgetxattr(path, aclName, list[:])
	if err != nil {
		return 0, false
	}
	for at := 4; at+aclEntry <= n; at += aclEntry {
		if binary.LittleEndian.Uint16(list[at:]) == aclUser {
			return int(binary.LittleEndian.Uint32(list[at+4:])), true
		}
	}
	return 0, false
}
