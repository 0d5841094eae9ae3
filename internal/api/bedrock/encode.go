package bedrock

import _ "embed"

//go:embed invoke.txt
var invokeForms string

//go:embed converse.txt
var converseForms string
