package gres

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/gpusched/gpusched/daemon/config"
)

// mostLinks is the maximum number of links that follow resolves.
const mostLinks = 8

// follow resolves the links in a path, and returns the path to which they lead. Both paths begin at
// the directory root. The owner check must accept each directory and link on the way, so that only
// root can redirect the path.
func follow(root, name string, own config.OwnerCheck) (string, error) {
	at, rest, links := "/", strings.TrimPrefix(path.Clean(name), "/"), 0
	for rest != "" {
		word, tail, _ := strings.Cut(rest, "/")
		next := path.Join(at, word)
		info, err := os.Lstat(path.Join(root, next))
		if err != nil {
			return "", fmt.Errorf("%s: %w", next, withoutPath(err))
		}
		link := info.Mode().Type() == fs.ModeSymlink
		if link {
			info = linkInfo{info}
		}
		if err := own(info); err != nil {
			return "", fmt.Errorf("%s: %w", next, err)
		}
		if !link {
			if !info.IsDir() {
				return "", fmt.Errorf("%s: it is not a directory", next)
			}
			at, rest = next, tail
			continue
		}
		if links++; links > mostLinks {
			return "", errors.New("it leads through too many links")
		}
		to, err := os.Readlink(path.Join(root, next))
		if err != nil {
			return "", fmt.Errorf("%s: %w", next, withoutPath(err))
		}
		if !path.IsAbs(to) {
			to = path.Join(at, to)
		}
		at, rest = "/", strings.TrimPrefix(path.Join(path.Clean(to), tail), "/")
	}
	return at, nil
}

// linkInfo is the FileInfo of a link, but without permissions: the permissions of a link are always
// 0777 and mean nothing.
type linkInfo struct{ fs.FileInfo }

// Mode returns only the type of the file.
func (l linkInfo) Mode() fs.FileMode { return l.FileInfo.Mode().Type() }
