package classify_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// refusedImages are errors of models that take no images, or not those of the request, as reported by users.
var refusedImages = []struct {
	status int
	body   string
}{
	{500, `{"error":"Failed to create new sequence: failed to process inputs: this model is missing data required for image input"}`},
	{400, `{"error":"this model does not support image input (ref: b8bd630e-4a39-4b57-82af-9158ee9d5703)"}`},
	{500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`},
	{500, `{"error":{"code":500,"message":"Failed to parse messages: Unsupported content part type: \"image_url\"; messages = [\n  {","type":"server_error"}}`},
	{400, `{"error":{"message":"Invalid content type. image_url is only supported by certain models.","type":"invalid_request_error","param":"messages.[0].content.[1].type","code":null}}`},
	{404, `{"error":{"code":"404","message":"No endpoints found that support image input","param":"","type":""}}`},
	{400, `{"error":"Model does not support images. Please use a model that does."}`},
	{400, `{"error":{"message":"Failed to deserialize the JSON body into the target type: messages[62]: unknown variant ` + "`image_url`, expected `text`" + ` at line 1 column 242537","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`},
	{400, `{"error":{"code":400,"message":"Image input modality is not enabled for models/gemma-3-1b-it","status":"INVALID_ARGUMENT"}}`},
	{400, `{"error":{"code":400,"message":"Unsupported MIME type: image/gif","status":"INVALID_ARGUMENT"}}`},
	{400, `{"message":"This model doesn't support the image content block that you provided. Update the content block and try again."}`},
	{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}`},
	{400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.11.content.8.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"}}`},
	{400, `{"object":"error","message":"At most 1 image(s) may be provided in one request.","type":"BadRequestError","code":400}`},
}

func TestFromResponse_RefusedImages(t *testing.T) {
	for _, tt := range refusedImages {
		f := classify.FromResponse(tt.status, nil, []byte(tt.body), start)
		if f.Kind != fault.Invalid || !f.Images {
			t.Errorf("%d %s: got %v by %s, of images: %t, want invalid, true", tt.status, tt.body, f.Kind, f.Rule, f.Images)
		}
	}
}

func TestFromResponse_OtherFaultsAreNotOfImages(t *testing.T) {
	for _, body := range []string{
		`{"error":{"message":"The server had an error while processing your image request"}}`,
		`{"error":{"message":"Overloaded","type":"overloaded_error"}}`,
	} {
		if f := classify.FromResponse(500, nil, []byte(body), start); f.Images {
			t.Errorf("%s: of images by %s, want not", body, f.Rule)
		}
	}
}
