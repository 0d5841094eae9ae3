package classify

import "github.com/ridethrough/ridethrough/fault"

// bedrock is Amazon Bedrock, and the errors that all AWS APIs have in common: as
// a header, as "__type", as an event of a stream, or in the text of an SDK.
// Sources: the errors of InvokeModel, Converse and their streams in the API
// reference, the user guide's troubleshooting of API error codes, and the lists
// of what AWS SDKs try again.
var bedrock = table{
	vendor: "bedrock",
	names: []row{
		{name: "AccessDeniedException", says: "still being processed", kind: fault.Unknown, why: "a subscription that is being made: it takes minutes"},
		{name: "MPAgreementBeingCreated", kind: fault.Unknown, why: "403, but it clears by itself in about two minutes"},
		{name: "ServiceQuotaExceededException", kind: fault.Unknown, why: "400: a quota that may pass, or a hard one; the docs say to send it again later"},
		{name: "LimitExceededException", status: 429, kind: fault.Quota, window: true, why: "API Gateway: the quota of a usage plan"},
		{name: "FTUFormNotFilled", kind: fault.Refused, why: "the use case has to be submitted first"},

		{name: "ModelNotReadyException", kind: fault.Overloaded, why: "429: the model is being loaded"},
		{name: "ModelTimeoutException", kind: fault.UpstreamTimeout, why: "408: the model took too long"},
		{name: "ModelErrorException", kind: fault.Unavailable, why: "424: the model failed over it"},
		{name: "ModelStreamErrorException", kind: fault.Unavailable, why: "the model failed in the middle of the stream"},
		{name: "ServiceUnavailableException", kind: fault.Overloaded, why: "503, or inside a stream or a 400"},
		{name: "InternalServerException", kind: fault.Unavailable, why: "500, or inside a stream"},
		{name: "InternalFailure", kind: fault.Unavailable, why: "500 of any AWS API"},
		{name: "AccessDeniedException", kind: fault.Refused, why: "a permission is missing"},
		{name: "ResourceNotFoundException", kind: fault.Invalid, why: "there is no such model here"},
		{name: "ModelNotFoundException", kind: fault.Invalid, why: "there is no such model here"},
		{name: "OptInRequired", kind: fault.Refused, why: "the account has not subscribed"},
		{name: "SubscriptionRequiredException", kind: fault.Refused, why: "the account has not subscribed"},
		{name: "ConflictException", kind: fault.Unknown, why: "the state of a resource, which may change"},

		{name: "ExpiredTokenException", kind: fault.Auth, why: "temporary credentials have expired"},
		{name: "ExpiredToken", kind: fault.Auth, why: "temporary credentials have expired"},
		{name: "RequestExpired", kind: fault.Auth, why: "the signature is too old, or the clock is wrong"},
		{name: "UnrecognizedClientException", kind: fault.Auth, why: "there is no such key"},
		{name: "InvalidClientTokenId", kind: fault.Auth, why: "there is no such key"},
		{name: "InvalidSignatureException", kind: fault.Auth, why: "the signature is wrong"},
		{name: "SignatureDoesNotMatch", kind: fault.Auth, why: "the signature is wrong"},
		{name: "IncompleteSignature", kind: fault.Auth, why: "the signature is wrong"},
		{name: "MissingAuthenticationToken", kind: fault.Auth, why: "nothing was sent"},
		{name: "MissingAuthenticationTokenException", kind: fault.Auth, why: "nothing was sent"},
		{name: "NotAuthorized", kind: fault.Refused, why: "a permission is missing"},
		{name: "NoCredentialsError", kind: fault.Auth, why: "the SDK has found no credentials"},
		{name: "CredentialsProviderError", kind: fault.Auth, why: "the SDK has found no credentials"},
		{name: "NoCredentialProviders", kind: fault.Auth, why: "the SDK has found no credentials"},

		{name: "PriorRequestNotComplete", kind: fault.RateLimited, why: "on the SDKs' list of throttles"},
		{name: "RequestTimeoutException", kind: fault.UpstreamTimeout, why: "on the SDKs' list of what passes"},
		{name: "RequestTimeout", kind: fault.UpstreamTimeout, why: "on the SDKs' list of what passes"},
	},
	family: []row{
		{name: "ThrottlingException", kind: fault.RateLimited, why: "a minute's quota, unless the sentence says a day's"},
		{name: "ThrottledException", kind: fault.RateLimited, why: "on the SDKs' list of throttles"},
		{name: "Throttling", kind: fault.RateLimited, why: "on the SDKs' list of throttles"},
		{name: "TooManyRequestsException", kind: fault.RateLimited, why: "on the SDKs' list of throttles"},
		{name: "RequestThrottled", kind: fault.RateLimited, why: "on the SDKs' list of throttles"},
		{name: "RequestThrottledException", kind: fault.RateLimited, why: "on the SDKs' list of throttles"},
		{name: "RequestLimitExceeded", kind: fault.RateLimited, why: "on the SDKs' list of throttles"},
		{name: "LimitExceededException", kind: fault.RateLimited, why: "on the SDKs' list of throttles"},
		{name: "BandwidthLimitExceeded", kind: fault.RateLimited, why: "on the SDKs' list of throttles"},
		{name: "ProvisionedThroughputExceededException", kind: fault.RateLimited, why: "on the SDKs' list of throttles"},
	},
	vague: []row{
		{name: "ValidationException", kind: fault.Invalid, why: "also what says that the input is too long"},
	},
	says: []row{
		{says: "AWS Marketplace subscription * still being processed", kind: fault.Unknown, why: "403, but it clears by itself in about two minutes"},
		{says: "too many tokens per day", kind: fault.Quota, window: true, why: "the account's quota of the day"},
		{says: "too many tokens, please wait", kind: fault.RateLimited, why: "the account's quota of the minute"},
		{says: "on demand throughput isn't supported", kind: fault.Invalid, why: "the model wants an inference profile"},
		{says: "not ready to serve inference requests", kind: fault.Overloaded, why: "the model is being loaded"},
		{says: "security token * is expired", kind: fault.Auth, why: "temporary credentials have expired"},
		{says: "security token * is invalid", kind: fault.Auth, why: "there is no such key"},
		{says: "unable to process your request", kind: fault.Overloaded, why: "the sentence of a ServiceUnavailableException"},
		{says: "don't have access to the model", kind: fault.Refused, why: "model access has to be asked for"},
		{says: "model use case details have not been submitted", kind: fault.Refused, why: "the use case has to be submitted first"},
	},
}
