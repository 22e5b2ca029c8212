package launch

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Read returns the spec in the file at path. The file must be a regular file, at most MaxSpecBytes
// long, and belong to root or to the caller. In the latter case the caller's own scheduler wrote
// it.
func Read(path string) (*Spec, error) {
	b, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	return Decode(b)
}

func readPrivate(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, errors.New("it is not a regular file")
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return nil, errors.New("it belongs to user " + strconv.Itoa(int(st.Uid)) + ", not to root")
	case st.Size > MaxSpecBytes:
		return nil, errors.New("it is larger than any spec")
	}
	b := make([]byte, st.Size)
	for n := 0; n < len(b); {
		k, err := unix.Read(fd, b[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if k == 0 {
			return b[:n], nil
		}
		n += k
	}
	return b, nil
}
