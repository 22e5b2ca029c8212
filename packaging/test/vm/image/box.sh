# The first process of a box, in a process and mount space of its own: with it go the container, its mounts and everything it started.
# $1: the image's tree, $2: the run directory (the caller's working directory too), the rest: systemd-nspawn's own switches.
set -e
lower=$1 run=$2
shift 2
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
if [ -d "$run/copy" ]; then
	tree=$run/copy
else
	tree=$run/merged
	mount -t overlay overlay -o "lowerdir=$lower,upperdir=$run/upper,workdir=$run/work" "$tree"
fi
export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1
exec systemd-nspawn --quiet --boot --directory="$tree" "$@"
