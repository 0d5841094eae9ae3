package ollama

import _ "embed"

//go:embed encode.txt
var forms string
