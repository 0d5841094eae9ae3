package anthropic

import _ "embed"

//go:embed encode.txt
var forms string

// Forms returns what the Messages API writes, for the APIs that write it too.
func Forms() string { return forms }
