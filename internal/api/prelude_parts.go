package api

// What the parts of an answer are to its client.

// read follows the parts of a frame, and returns what it is to the client.
func (p *Prelude) read(parts *Parts) (as effect) {
	if p.at.ID == "" {
		p.at.ID = string(parts.ID)
	}
	p.signed = p.signed || parts.Signed
	p.tokens = max(p.tokens, parts.Usage.Total)
	if p.starts = parts.n > 0; !p.starts {
		as = asOpening
	}
	for i := range parts.n {
		part := parts.At(i)
		p.begun = max(p.begun, part.Block)
		p.starts = p.starts && part.Kind == StartPart
		if part.Choice > 0 || parts.Unfollowed {
			as = asKept
		}
		as = max(as, p.readPart(part))
	}
	if parts.Checkpoint { // it is for the client, too
		as = max(as, asReasoning)
	}
	return as
}

// readPart follows a part. A signature is withheld until its block is whole.
func (p *Prelude) readPart(part *Part) effect {
	switch part.Kind {
	case PingPart:
		return asAside
	case StartPart, UsagePart, LogprobsPart:
		return asOpening
	case OpenPart:
		p.block = part.Of
		return asOpening
	case TextPart:
		p.block = TextPart
	case ReasoningPart:
		p.block = ReasoningPart
		switch {
		case IsEmpty(part.Text):
			return asOpening
		case !p.sealed:
			return asReasoning
		}
	case SignaturePart:
		p.sealed = true
		return asOpening
	case ToolCallPart, ToolInputPart:
		p.block = ToolCallPart
		return asCalling
	case ExtraPart:
		if p.block == ToolCallPart {
			return asCalling
		}
	case ClosePart:
		return p.readClose(part.Of)
	}
	return asKept
}

// readClose follows the end of a block, or of a part of one.
func (p *Prelude) readClose(of PartKind) effect {
	if of == ToolInputPart {
		return asCalling
	}
	reasons := of == ReasoningPart || p.block == ReasoningPart && (of == 0 || of == OpenPart)
	if of == 0 {
		p.block, p.sealed = 0, false
	}
	if reasons && !p.sealed {
		return asReasoning
	}
	return asKept
}
