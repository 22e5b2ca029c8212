package screen

import (
	"testing"

	"github.com/gpusched/gpusched/contrib/pictures"
	"github.com/gpusched/gpusched/packaging/test/golden"
)

// The picture in the README shows what the program draws.
func TestPicture(t *testing.T) {
	const width, height = 112, 23
	p := lab()
	p.List.Jobs[3].Name = "bert-base" // some readers' fonts lack characters of the original name
	m := screenOf(p, width, height, Setting{})
	svg := pictures.SVG("gpusched top: GPUs, memory by job, and the queue", m.Frame().Styled(true), width)
	golden.Check(t, "../../../../contrib/pictures/top.svg", svg)
}
