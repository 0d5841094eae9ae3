package gemini

import _ "embed"

//go:embed encode.txt
var forms string

//go:embed interactions.txt
var interactionForms string
