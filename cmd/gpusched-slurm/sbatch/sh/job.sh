gs_id=$SLURM_JOB_ID
gs_attempt=$((${SLURM_RESTART_COUNT:-0} + 1))
gs_used=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null)
for gs_port in 20000 22500 25000 27500; do
	gs_port=$((gs_port + gs_id % 2500))
	case $gs_used in
	*:$(printf %04X "$gs_port")\ *) ;;
	*) break ;;
	esac
done
