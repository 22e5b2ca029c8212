gs_ids=${SLURM_JOB_GPUS-${SLURM_STEP_GPUS-}}
gs_visible=${CUDA_VISIBLE_DEVICES-$gs_ids}
gs_count=0 gs_uuids= gs_lines=0
for gs_word in $(printf %s "$gs_ids" | tr , ' '); do gs_count=$((gs_count + 1)); done
gs_list() {
	gs_uuids= gs_lines=0
	for gs_word in $(timeout 10 nvidia-smi "$@" --query-gpu=uuid --format=csv,noheader 2>/dev/null); do
		gs_uuids=$gs_uuids${gs_uuids:+,}$gs_word gs_lines=$((gs_lines + 1))
	done
}
if [ "$gs_count" -gt 0 ] && command -v nvidia-smi >/dev/null; then
	gs_list
	if [ "$gs_lines" != "$gs_count" ]; then gs_list -i "$gs_ids"; fi
	if [ "$gs_lines" != "$gs_count" ]; then gs_uuids=; fi
fi
gs_containers=${gs_uuids:-$gs_ids}
