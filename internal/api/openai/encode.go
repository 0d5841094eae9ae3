package openai

import _ "embed"

//go:embed shared.txt
var sharedForms string

//go:embed chat.txt
var chatForms string

//go:embed completions.txt
var completionsForms string

//go:embed responses.txt
var responsesForms string
