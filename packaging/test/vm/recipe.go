package vm

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// imageFormat is incremented when the build changes and no other part of the recipe shows the
// change.
const imageFormat = 1

// A Suite is a Debian release.
type Suite string

const (
	Bookworm Suite = "bookworm" // Debian 12; the shipped packages are built for this release
	Trixie   Suite = "trixie"   // Debian 13
	Sid      Suite = "sid"      // Debian unstable, as it was when the image was built
)

// Suites returns every Suite.
func Suites() []Suite { return []Suite{Bookworm, Trixie, Sid} }

//go:embed image/customise.sh
var customiseScript string

//go:embed image/early.sh
var earlyScript string

// A recipe is everything that determines an image, except the versions of its packages.
type recipe struct {
	kind     Kind
	suite    Suite
	includes []string
	hooks    map[string]string // each hook of mmdebstrap, with the script that it runs
}

// recipeOf returns the recipe of a machine. The argument packages lists further packages of the
// suite.
func recipeOf(kind Kind, suite Suite, packages []string) (recipe, error) {
	if !slices.Contains(Suites(), suite) {
		return recipe{}, fmt.Errorf("suite %q of Debian: there are %q", suite, Suites())
	}
	includes := []string{
		"systemd", "systemd-sysv", "dbus", "polkitd", "needrestart", "procps", "passwd", "bash", "coreutils",
		"util-linux", "init-system-helpers", "python3-minimal", "libnss-extrausers",
	}
	hooks := map[string]string{"customize": customiseScript}
	switch kind {
	case Box:
		includes = append(includes, "openssh-server", "screen", "tmux")
	case Emulated:
		hooks["essential"] = earlyScript
		includes = append(includes, "udev", "openssh-server", "linux-image-cloud-amd64", "initramfs-tools")
	default:
		return recipe{}, fmt.Errorf("machine kind %q: there are %q and %q", kind, Box, Emulated)
	}
	if len(packages) > 0 {
		script, err := withQuietServices(customiseScript)
		if err != nil {
			return recipe{}, err
		}
		hooks["customize"] = script
	}
	return recipe{kind: kind, suite: suite, includes: append(includes, packages...), hooks: hooks}, nil
}

// SlurmPackages returns the packages of Slurm, the packages that Slurm's accounting needs, and
// Snakemake, which can use Slurm. Pass them as Options.Packages. A boot starts none of their
// services.
func SlurmPackages() []string {
	return []string{"slurm-wlm", "munge", "slurmdbd", "mariadb-server", "iproute2", "snakemake"}
}

// ContainerPackages returns the packages of the container engines Podman and Docker in a suite. Pass
// them as Options.Packages. A boot starts none of their services.
func ContainerPackages(suite Suite) []string {
	packages := []string{"podman", "crun", "uidmap", "docker.io", "busybox-static"}
	if suite != Bookworm && suite != "" {
		packages = append(packages, "docker-cli") // a part of docker.io until Debian 12
	}
	return packages
}

// AllPackages returns the packages of SlurmPackages and ContainerPackages, and what Docker needs on
// a kernel with AppArmor, such as the emulated machine's.
func AllPackages(suite Suite) []string {
	return slices.Concat(SlurmPackages(), ContainerPackages(suite), []string{"apparmor"})
}

// customiseArgs is a line of image/customise.sh. More lines can be inserted after it.
const customiseArgs = "root=$1 kind=$2\n"

// quietServices makes sure that a boot does not start the services of further packages. At a boot
// they have no settings yet, and some of these services would wait for their settings longer than a
// boot may take. A test starts them.
const quietServices = `for unit in mariadb.service munge.service slurmctld.service slurmd.service slurmdbd.service \
	docker.service docker.socket containerd.service podman.service podman.socket podman-restart.service \
	podman-auto-update.service podman-auto-update.timer netavark-dhcp-proxy.socket netavark-dhcp-proxy.service; do
	rm -f "$root"/etc/systemd/system/*.wants/$unit "$root"/etc/systemd/user/*.wants/$unit
done
`

// withQuietServices inserts quietServices into a script.
func withQuietServices(script string) (string, error) {
	if strings.Count(script, customiseArgs) != 1 {
		return "", fmt.Errorf("customise.sh has not the line %q once, after which the services are made to wait", customiseArgs)
	}
	return strings.Replace(script, customiseArgs, customiseArgs+quietServices, 1), nil
}

// hash returns the name of the image: 64 hex digits.
func (r recipe) hash() string {
	h := sha256.New()
	fmt.Fprintf(h, "format %d\nsuite %s\nkind %s\ninclude %s\n", imageFormat, r.suite, r.kind,
		strings.Join(r.includes, ","))
	for _, hook := range slices.Sorted(maps.Keys(r.hooks)) {
		fmt.Fprintf(h, "%s\n%s\n", hook, r.hooks[hook])
	}
	return hex.EncodeToString(h.Sum(nil))
}
