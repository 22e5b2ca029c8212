package vm

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"
)

// imageFormat is raised when the build itself changes in a way that the rest of the recipe does not show.
const imageFormat = 1

const suite = "bookworm"

//go:embed image/customise.sh
var customiseScript string

// A recipe says everything that an image is made from besides the packages' own versions.
type recipe struct {
	kind     Kind
	includes []string
	script   string
}

func recipeOf(kind Kind) (recipe, error) {
	includes := []string{
		"systemd", "systemd-sysv", "dbus", "polkitd", "needrestart", "procps", "passwd", "bash", "coreutils",
		"util-linux", "init-system-helpers", "python3-minimal",
	}
	switch kind {
	case Box:
	case Emulated:
		includes = append(includes, "udev", "openssh-server", "linux-image-cloud-amd64", "initramfs-tools")
	default:
		return recipe{}, fmt.Errorf("machine kind %q: there are %q and %q", kind, Box, Emulated)
	}
	return recipe{kind: kind, includes: includes, script: customiseScript}, nil
}

// hash names the image: 64 hex digits.
func (r recipe) hash() string {
	h := sha256.New()
	fmt.Fprintf(h, "format %d\nsuite %s\nkind %s\ninclude %s\n", imageFormat, suite, r.kind, strings.Join(r.includes, ","))
	fmt.Fprintf(h, "script\n%s", r.script)
	return hex.EncodeToString(h.Sum(nil))
}
