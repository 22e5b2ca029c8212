package sbatch

// Inside returns the arguments that run a command in a running job. They also set the variables
// about the job's GPUs, because only the node knows the values.
func Inside(gpuMilli int, argv ...string) []string {
	text := noGPUText
	if gpuMilli > 0 {
		text = shell("gpu")
	}
	text += `export CUDA_VISIBLE_DEVICES="$gs_visible" NVIDIA_VISIBLE_DEVICES="$gs_containers"
export GPUSCHED_GPU_IDS="$gs_ids" GPUSCHED_GPU_UUIDS="$gs_uuids"
exec "$@"
`
	return append([]string{"/bin/sh", "-c", text, "gpusched"}, argv...)
}
