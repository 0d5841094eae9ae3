package llm

// Collector assembles the parts of an answer. The zero value is an empty answer.
type Collector struct {
	Usage Usage // the latest
	End   End   // zero: the answer has not ended

	content Content
	text    []byte // of the open block
	open    Block  // the block that grows, Text or Reasoning; nil: none
}

// Add adds the next part.
func (c *Collector) Add(p Part) {
	switch p := p.(type) {
	case Text:
		if _, ok := c.open.(Text); !ok {
			c.endBlock()
			c.open = Text{}
		}
		c.text = append(c.text, p.Text...)
	case Reasoning:
		if _, ok := c.open.(Reasoning); !ok {
			c.endBlock()
			c.open = Reasoning{}
		}
		c.text = append(c.text, p.Text...)
		if p.Signature != "" {
			c.open = Reasoning{Signature: p.Signature}
			c.endBlock()
		}
	case ToolCall:
		c.endBlock()
		c.content = append(c.content, p)
	case Usage:
		c.Usage = p
	case End:
		c.End = p
	}
}

// endBlock completes the open block. An empty block is dropped.
func (c *Collector) endBlock() {
	switch b := c.open.(type) {
	case Text:
		if len(c.text) > 0 {
			c.content = append(c.content, Text{string(c.text)})
		}
	case Reasoning:
		if b.Text = string(c.text); b != (Reasoning{}) {
			c.content = append(c.content, b)
		}
	}
	c.open, c.text = nil, c.text[:0]
}

// Content returns the answer so far as the content of a message.
func (c *Collector) Content() Content {
	c.endBlock()
	return c.content
}
