package classify

import "github.com/ridethrough/ridethrough/fault"

// bedrock is Amazon Bedrock, and the errors that all AWS APIs have in common: as a header, as "__type", as an
// event of a stream, or in the text of an SDK. Sources: the errors of InvokeModel, Converse and their streams
// in the API reference, the user guide's troubleshooting of API error codes, and the lists of what AWS SDKs
// retry.
var bedrock = table{
	vendor: "bedrock",
	names: []row{
		{name: "AccessDeniedException", text: "still being processed", kind: fault.Unknown, reason: "a subscription that is being made: it takes minutes"},
		{name: "MPAgreementBeingCreated", kind: fault.Unknown, reason: "403, but it clears by itself in about two minutes"},
		{name: "ServiceQuotaExceededException", kind: fault.Unknown, reason: "400: InvokeModel's docs say that it can be sent again later, AWS's SDKs do not send it again, and the number of a resource exceeds it for good"},
		{name: "LimitExceededException", status: 429, kind: fault.Quota, window: true, reason: "API Gateway: the quota of a usage plan"},
		{name: "FTUFormNotFilled", kind: fault.Refused, reason: "the use case has to be submitted first"},

		{name: "ModelNotReadyException", kind: fault.Overloaded, reason: "429: the model is being loaded"},
		{name: "ModelTimeoutException", kind: fault.UpstreamTimeout, reason: "408: the model took too long"},
		{name: "ModelErrorException", kind: fault.Unavailable, reason: "424: the model failed over it"},
		{name: "ModelStreamErrorException", kind: fault.Unavailable, reason: "the model failed in the middle of the stream"},
		{name: "ServiceUnavailableException", kind: fault.Overloaded, reason: "503, or inside a stream or a 400"},
		{name: "InternalServerException", kind: fault.Unavailable, reason: "500, or inside a stream"},
		{name: "InternalFailure", kind: fault.Unavailable, reason: "500 of any AWS API"},
		{name: "AccessDeniedException", kind: fault.Refused, reason: "a permission is missing"},
		{name: "ResourceNotFoundException", kind: fault.Invalid, reason: "there is no such model here"},
		{name: "ModelNotFoundException", kind: fault.Invalid, reason: "there is no such model here"},
		{name: "OptInRequired", kind: fault.Refused, reason: "the account has not subscribed"},
		{name: "SubscriptionRequiredException", kind: fault.Refused, reason: "the account has not subscribed"},
		{name: "ConflictException", kind: fault.Unknown, reason: "the state of a resource, which may change"},

		{name: "ExpiredTokenException", kind: fault.Auth, reason: "temporary credentials have expired"},
		{name: "ExpiredToken", kind: fault.Auth, reason: "temporary credentials have expired"},
		{name: "RequestExpired", kind: fault.Auth, reason: "the signature is too old, or the clock is wrong"},
		{name: "UnrecognizedClientException", kind: fault.Auth, reason: "there is no such key"},
		{name: "InvalidClientTokenId", kind: fault.Auth, reason: "there is no such key"},
		{name: "InvalidSignatureException", kind: fault.Auth, reason: "the signature is wrong"},
		{name: "SignatureDoesNotMatch", kind: fault.Auth, reason: "the signature is wrong"},
		{name: "IncompleteSignature", kind: fault.Auth, reason: "the signature is wrong"},
		{name: "MissingAuthenticationToken", kind: fault.Auth, reason: "nothing was sent"},
		{name: "MissingAuthenticationTokenException", kind: fault.Auth, reason: "nothing was sent"},
		{name: "NotAuthorized", kind: fault.Refused, reason: "a permission is missing"},
		{name: "NoCredentialsError", kind: fault.Auth, reason: "the SDK has found no credentials"},
		{name: "CredentialsProviderError", kind: fault.Auth, reason: "the SDK has found no credentials"},
		{name: "NoCredentialProviders", kind: fault.Auth, reason: "the SDK has found no credentials"},

		{name: "PriorRequestNotComplete", kind: fault.RateLimited, reason: "on the AWS SDKs' list of throttles"},
		{name: "RequestTimeoutException", kind: fault.UpstreamTimeout, reason: "on the AWS SDKs' list of transient errors"},
		{name: "RequestTimeout", kind: fault.UpstreamTimeout, reason: "on the AWS SDKs' list of transient errors"},
	},
	broadNames: []row{
		{name: "ThrottlingException", kind: fault.RateLimited, reason: "a minute's quota, unless the text says a day's"},
		{name: "ThrottledException", kind: fault.RateLimited, reason: "on the AWS SDKs' list of throttles"},
		{name: "Throttling", kind: fault.RateLimited, reason: "on the AWS SDKs' list of throttles"},
		{name: "TooManyRequestsException", kind: fault.RateLimited, reason: "on the AWS SDKs' list of throttles"},
		{name: "RequestThrottled", kind: fault.RateLimited, reason: "on the AWS SDKs' list of throttles"},
		{name: "RequestThrottledException", kind: fault.RateLimited, reason: "on the AWS SDKs' list of throttles"},
		{name: "RequestLimitExceeded", kind: fault.RateLimited, reason: "on the AWS SDKs' list of throttles"},
		{name: "LimitExceededException", kind: fault.RateLimited, reason: "on the AWS SDKs' list of throttles"},
		{name: "BandwidthLimitExceeded", kind: fault.RateLimited, reason: "on the AWS SDKs' list of throttles"},
		{name: "ProvisionedThroughputExceededException", kind: fault.RateLimited, reason: "on the AWS SDKs' list of throttles"},
	},
	weakNames: []row{
		{name: "ValidationException", kind: fault.Invalid, reason: "also used for an input that is too long"},
	},
	texts: []row{
		{text: "AWS Marketplace subscription * still being processed", kind: fault.Unknown, reason: "403, but it clears by itself in about two minutes"},
		{text: "too many tokens per day", kind: fault.Quota, window: true, reason: "the account's quota of the day"},
		{text: "too many tokens, please wait", kind: fault.RateLimited, reason: "the account's quota of the minute"},
		{text: "on demand throughput isn't supported", kind: fault.Invalid, reason: "the model wants an inference profile"},
		{text: "not ready to serve inference requests", kind: fault.Overloaded, reason: "the model is being loaded"},
		{text: "security token * is expired", kind: fault.Auth, reason: "temporary credentials have expired"},
		{text: "security token * is invalid", kind: fault.Auth, reason: "there is no such key"},
		{text: "unable to process your request", kind: fault.Overloaded, reason: "the text of a ServiceUnavailableException"},
		{text: "don't have access to the model", kind: fault.Refused, reason: "model access has to be asked for"},
		{text: "model use case details have not been submitted", kind: fault.Refused, reason: "the use case has to be submitted first"},
	},
}
