package collector

// Sizes are of what a collection has to look at.
type Sizes = sizes

// NewSizes returns sizes.
func NewSizes(live, stacks, globals uint64) Sizes {
	return sizes{live: live, stacks: stacks, globals: globals}
}

// The rules by which the next collection is set.
var (
	PercentFor = percentFor
	RowAfter   = rowAfter
	Rushed     = rushed
)
