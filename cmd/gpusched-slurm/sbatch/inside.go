package sbatch

// Inside is the words of a command in a job that runs, which is told as the job is which GPUs that has: what of the
// environment only the node knows.
func Inside(gpuMilli int, argv ...string) []string {
	text := noGPUText
	if gpuMilli > 0 {
		text = gpuText
	}
	text += `export CUDA_VISIBLE_DEVICES="$gs_visible" NVIDIA_VISIBLE_DEVICES="$gs_containers"
export GPUSCHED_GPU_IDS="$gs_ids" GPUSCHED_GPU_UUIDS="$gs_uuids"
exec "$@"
`
	return append([]string{"/bin/sh", "-c", text, "gpusched"}, argv...)
}
