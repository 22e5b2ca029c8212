package contract

import "strconv"

// FractionVariable is the part of a GPU's memory that each process of a job with a part of a GPU
// should take, such as 0.45.
const FractionVariable = "GPUSCHED_GPU_FRACTION"

// The two names of JAX's setting for a process's part of the memory of each of its GPUs. All
// versions read the older name. A version that knows both fails if both have a value.
const (
	jaxFraction    = "XLA_PYTHON_CLIENT_MEM_FRACTION"
	newJAXFraction = "XLA_CLIENT_MEM_FRACTION"
)

// tensorFlowGrows makes TensorFlow take memory as it needs it, and not all of it at once.
const tensorFlowGrows = "TF_FORCE_GPU_ALLOW_GROWTH"

// Hints returns variables that tell the frameworks in a job which part of a GPU's memory is the
// job's. It leaves out what has a value already. A setting of JAX or TensorFlow holds for all GPUs
// of a process: the smallest part of the job counts. In a container, the newer of JAX's names gets
// no value, since the image may set that name and the older one has the part.
func Hints(gpus []GPU, contained bool, isSet func(name string) bool) (list []string) {
	milli := 0
	for _, g := range gpus {
		if g.HintMilli > 0 && (milli == 0 || g.HintMilli < milli) {
			milli = g.HintMilli
		}
	}
	if milli == 0 {
		return nil
	}
	part := strconv.FormatFloat(float64(milli)/1000, 'f', -1, 64)
	list = []string{FractionVariable + "=" + part}
	if !isSet(jaxFraction) && !isSet(newJAXFraction) {
		list = append(list, jaxFraction+"="+part)
		if contained {
			list = append(list, newJAXFraction+"=")
		}
	}
	if !isSet(tensorFlowGrows) {
		list = append(list, tensorFlowGrows+"=true")
	}
	return list
}
