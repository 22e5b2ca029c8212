package gpu

import "testing"

// Sums of weights distinguish the kinds: each kind weighs more than the next one in the list, and
// more NVLinks weigh more than fewer.
func TestWeightsAreInOrder(t *testing.T) {
	links := []Link{{Kind: LinkNVLink, Lanes: 18}, {Kind: LinkNVLink, Lanes: 4}, {Kind: LinkNVLink, Lanes: 1}}
	for _, k := range LinkKinds()[1:] {
		links = append(links, Link{Kind: k})
	}
	for i := 1; i < len(links); i++ {
		if links[i-1].Weight() <= links[i].Weight() {
			t.Errorf("%+v weighs %d, %+v %d", links[i-1], links[i-1].Weight(), links[i], links[i].Weight())
		}
	}
	if last := links[len(links)-1]; last.Weight() <= 0 {
		t.Errorf("%+v weighs %d, no more than nothing", last, last.Weight())
	}
}

func TestWeightOfTheUnknown(t *testing.T) {
	if got := (Link{Kind: "of-a-later-version", Lanes: 9}).Weight(); got != 0 {
		t.Errorf("weighs %d", got)
	}
	if most, over := (Link{Kind: LinkNVLink, Lanes: MaxLanes}).Weight(), (Link{Kind: LinkNVLink, Lanes: 1 << 40}).Weight(); most != over {
		t.Errorf("%d lanes weigh %d, far more weigh %d", MaxLanes, most, over)
	}
}
