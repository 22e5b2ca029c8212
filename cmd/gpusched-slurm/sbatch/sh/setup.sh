gs_modules=$1 gs_front=$2 gs_conda=$3 gs_part="its modules could not be loaded"
shift 3
gs_command=$GPUSCHED_SETUP
unset GPUSCHED_SETUP
trap 'echo "gpusched: the job did not start: $gs_part (exit status $?)" >&2; trap - EXIT; exit @STATUS@' EXIT
if [ "$gs_modules" -gt 0 ]; then
	gs_kind=sh
	if [ -n "${BASH_VERSION-}" ]; then gs_kind=bash; fi
	for gs_init in @INITS@; do
		if [ -r "$gs_init" ]; then . "$gs_init"; break; fi
	done
	while [ "$gs_modules" -gt 0 ]; do
		module load "$1" || exit
		shift
		gs_modules=$((gs_modules - 1))
	done
	PATH=$gs_front$PATH
fi
gs_run() {
	gs_part="a script of its conda environment ended the shell"
	if [ -n "$gs_conda" ]; then
		for gs_file in "$gs_conda"/etc/conda/activate.d/*.sh; do
			if [ -r "$gs_file" ]; then . "$gs_file"; fi
		done
	fi
	gs_part="its set-up failed"
	eval "$gs_command"
}
gs_run || exit
trap - EXIT
exec "$@"
