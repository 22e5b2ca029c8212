gs_ended= gs_pid= gs_due=
gs_pass() { if [ -n "$gs_pid" ]; then kill -s "$1" "$gs_pid" 2>/dev/null; else gs_due="$gs_due $1"; fi; }
trap 'gs_ended=yes; gs_pass TERM' TERM
for gs_signal in HUP INT QUIT USR1 USR2 ALRM URG XCPU WINCH; do trap "gs_pass $gs_signal" "$gs_signal"; done
@COMMAND@ &
gs_pid=$!
for gs_signal in $gs_due; do gs_pass "$gs_signal"; done
while :; do
	wait "$gs_pid"
	gs_status=$?
	kill -0 "$gs_pid" 2>/dev/null || break
done
if [ "$gs_status" -gt 128 ]; then
	wait "$gs_pid" 2>/dev/null # a signal may have ended the first wait as the command ended
	gs_again=$?
	[ "$gs_again" = 127 ] || gs_status=$gs_again
fi
gs_left=$((@TRIES@ - gs_attempt))
if [ "$gs_status" = 0 ] || [ -n "$gs_ended" ] || [ "$gs_left" -le 0 ]; then exit "$gs_status"; fi
trap - HUP INT QUIT USR1 USR2 ALRM URG XCPU WINCH
trap '' TERM
echo "gpusched: attempt $gs_attempt ended with status $gs_status; $gs_left more may follow (--retries)" >&2
scontrol requeue "$gs_id" || exit "$gs_status"
gs_wait=@WAIT@ gs_n=1
while [ "$gs_n" -lt "$gs_attempt" ] && [ "$gs_wait" -lt 3600 ]; do gs_wait=$((gs_wait * 2)) gs_n=$((gs_n + 1)); done
if [ "$gs_wait" -lt @LEAST@ ]; then gs_wait=@LEAST@; fi
scontrol update "JobId=$gs_id" "StartTime=now+$gs_wait"
exit "$gs_status"
