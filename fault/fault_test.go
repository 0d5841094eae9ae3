package fault_test

import "time"

// start is the moment at which everything in these tests happens.
var start = time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC)
