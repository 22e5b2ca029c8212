if [ "${1-}" != --after-login ]; then
	case $0 in *[!A-Za-z0-9_./+:@-]*) echo "gpusched: the script $0 can't go through a login shell" >&2; exit @STATUS@ ;; esac
	: "${SHELL:=$(getent passwd "$(id -u)" | cut -d: -f7)}"
	gs_flag=
	case ${SHELL##*/} in csh | tcsh) ;; *) gs_flag=-l ;; esac
	exec "${SHELL:-/bin/sh}" $gs_flag -c "exec /bin/sh $0 --after-login"
fi
