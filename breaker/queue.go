package breaker

import "time"

// queue holds calls that wait, in order. A call is in one queue at most.
type queue struct {
	why        BlockReason
	circuit    *circuit // whose queue it is; nil: the breaker's
	head, tail *Caller
	n          int
	sum        time.Duration // of the calls' scheduled waits
}

// push puts a call at the end.
func (q *queue) push(c *Caller) {
	c.in, c.prev, c.next = q, q.tail, nil
	if q.tail == nil {
		q.head = c
	} else {
		q.tail.next = c
	}
	q.tail = c
	q.n++
	q.sum += c.wait
}

// dequeue takes the call out of its queue, if it is in one.
func (c *Caller) dequeue() {
	q := c.in
	if q == nil {
		return
	}
	if c.prev == nil {
		q.head = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		q.tail = c.prev
	} else {
		c.next.prev = c.prev
	}
	q.n--
	q.sum -= c.wait
	c.in, c.prev, c.next = nil, nil, nil
}

// move puts a call at the end of another queue.
func (c *Caller) move(to *queue) {
	c.dequeue()
	to.push(c)
}

// drain takes all calls out, in order.
func (q *queue) drain() []*Caller {
	all := make([]*Caller, 0, q.n)
	for c := q.head; c != nil; c = q.head {
		c.dequeue()
		all = append(all, c)
	}
	return all
}
