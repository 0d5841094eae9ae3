package classify

import "github.com/ridethrough/ridethrough/fault"

// noImages and badImage are the reasons of the rows below.
const (
	noImages = "the model takes no images"
	badImage = "the model does not take the image"
)

// imageTexts are what servers say about the images of a request. Those of Ollama and llama.cpp come with a 500, and
// pass as little as the others. Sources: the servers' code, and the reports of their users.
var imageTexts = table{
	vendor: "images",
	texts: []row{
		{text: "missing data required for image input", kind: fault.Invalid, images: true, reason: noImages},          // Ollama, 500
		{text: "support image input", kind: fault.Invalid, images: true, reason: noImages},                            // Anthropic, Ollama's cloud, OpenRouter
		{text: "image input is not supported", kind: fault.Invalid, images: true, reason: noImages},                   // llama.cpp, 500
		{text: "unsupported content part type ~ image url", kind: fault.Invalid, images: true, reason: noImages},      // llama.cpp, 500
		{text: "image input modality is not enabled", kind: fault.Invalid, images: true, reason: noImages},            // Gemini
		{text: "image url is only supported by certain models", kind: fault.Invalid, images: true, reason: noImages},  // OpenAI
		{text: "not support images", kind: fault.Invalid, images: true, reason: noImages},                             // LM Studio
		{text: "unknown variant ~ image url", kind: fault.Invalid, images: true, reason: noImages},                    // DeepSeek
		{text: "t support the image", kind: fault.Invalid, images: true, reason: noImages},                            // Bedrock
		{text: "is not a multimodal model", kind: fault.Invalid, images: true, reason: noImages},                      // vLLM
		{text: "at most ~ image", kind: fault.Invalid, images: true, reason: "fewer images are taken"},                // vLLM
		{text: "too many images", kind: fault.Invalid, images: true, reason: "fewer images are taken"},                // several
		{text: "could not process image", kind: fault.Invalid, images: true, reason: badImage},                        // Anthropic
		{text: "unable to process input image", kind: fault.Invalid, images: true, reason: badImage},                  // Gemini
		{text: "unsupported mime type ~ image", kind: fault.Invalid, images: true, reason: badImage},                  // Gemini, of a GIF
		{text: "uploaded an unsupported image", kind: fault.Invalid, images: true, reason: badImage},                  // OpenAI
		{text: "image dimensions exceed", kind: fault.Invalid, images: true, reason: "the image has too many pixels"}, // Anthropic
	},
}
