package breaker

import "time"

// list holds calls that stand still, in order. A call is in one list at the
// most.
type list struct {
	why        BlockReason
	scope      *scope // whose list it is; nil: the gate's
	head, tail *Caller
	n          int
	sum        time.Duration // of the calls' scheduled waits
}

// push puts a call at the end.
func (l *list) push(c *Caller) {
	c.in, c.prev, c.next = l, l.tail, nil
	if l.tail == nil {
		l.head = c
	} else {
		l.tail.next = c
	}
	l.tail = c
	l.n++
	l.sum += c.wait
}

// unlist takes the call out of the list that it is in, if any.
func (c *Caller) unlist() {
	l := c.in
	if l == nil {
		return
	}
	if c.prev == nil {
		l.head = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		l.tail = c.prev
	} else {
		c.next.prev = c.prev
	}
	l.n--
	l.sum -= c.wait
	c.in, c.prev, c.next = nil, nil, nil
}

// move puts a call at the end of another list.
func (c *Caller) move(to *list) {
	c.unlist()
	to.push(c)
}

// drain takes all calls out, in order.
func (l *list) drain() []*Caller {
	all := make([]*Caller, 0, l.n)
	for c := l.head; c != nil; c = l.head {
		c.unlist()
		all = append(all, c)
	}
	return all
}
