package exchange

// Tick counts one tick of the write in progress, as after a stall that has held it up.
func (w *Writer) Tick() { w.stall.tick() }

// Ticks is how many ticks end a write that sets the timer.
const Ticks = ticks
