package classify

import "github.com/ridethrough/ridethrough/fault"

// runtimeTexts are the errors of the HTTP clients of .NET, Java, PHP, Ruby, Rust, Swift, Deno
// and Bun, and of closed WebSockets. Programs written in them end up
// behind relays and plug-ins, and their text in our answers.
var runtimeTexts = table{
	vendor:       "runtimes",
	exceptStatus: isClientError,
	names: []row{
		{name: "CURLE_OPERATION_TIMEDOUT", kind: fault.Timeout, reason: "curl 28"},
		{name: "CURLE_COULDNT_RESOLVE_HOST", kind: fault.Unavailable, reason: "curl 6"},
		{name: "CURLE_COULDNT_CONNECT", kind: fault.Unavailable, reason: "curl 7"},
		{name: "CURLE_GOT_NOTHING", kind: fault.Unavailable, reason: "curl 52"},
		{name: "SocketTimeoutException", text: "connect timed out", kind: fault.UpstreamTimeout, reason: "Java: no answer to the dial"},
		{name: "HttpConnectTimeoutException", kind: fault.UpstreamTimeout, reason: "Java"},
		{name: "ConnectTimeoutException", kind: fault.UpstreamTimeout, reason: "Java: Apache and Netty"},
		{name: "HttpRequestTimeoutException", kind: fault.Timeout, reason: "Ktor"},
		{name: "ReadTimeoutException", kind: fault.Timeout, reason: "Netty"},
		{name: "NoHttpResponseException", kind: fault.Unavailable, reason: "Apache: the server hung up"},
		{name: "PrematureCloseException", kind: fault.Unavailable, reason: "Reactor: the answer broke off"},
		{name: "UnresolvedAddressException", kind: fault.Unavailable, reason: "Java: a resolver's hiccup, or a name that is gone"},
		{name: "MalformedURLException", kind: fault.Invalid, reason: "Java"},
		{name: "URISyntaxException", kind: fault.Invalid, reason: "Java"},
		{name: "UriFormatException", kind: fault.Invalid, reason: ".NET"},
		{name: "SSLPeerUnverifiedException", kind: fault.Invalid, reason: "Java: the certificate is another's"},
		{name: "RemoteCertificateNameMismatch", kind: fault.Invalid, reason: ".NET"},
		{name: "RemoteCertificateChainErrors", kind: fault.Invalid, reason: ".NET"},
		{name: "NotValidForName", kind: fault.Invalid, reason: "rustls: the certificate is another's"},
		{name: "OpenTimeout", kind: fault.UpstreamTimeout, reason: "Ruby's Net::OpenTimeout"},
		{name: "IncompleteMessage", kind: fault.Unavailable, reason: "hyper: the answer broke off"},
		{name: "FailedToOpenSocket", kind: fault.Unavailable, reason: "Bun"},
		{name: "CancellationException", kind: fault.Canceled, reason: "Java"},
		{name: "JobCancellationException", kind: fault.Canceled, reason: "Kotlin"},
	},
	weakNames: []row{
		{name: "SocketException", kind: fault.Unavailable, reason: "Java, .NET and Dart, for everything about a socket"},
		{name: "SocketError", kind: fault.Unavailable, reason: "Ruby, for everything about a socket"},
		{name: "ConnectException", kind: fault.Unavailable, reason: "Java and Guzzle"},
		{name: "ConnectionFailed", kind: fault.Unavailable, reason: "Faraday"},
		{name: "HttpRequestException", kind: fault.Unavailable, reason: ".NET, for everything without an answer"},
		{name: "ClosedChannelException", kind: fault.Unavailable, reason: "Java"},
		{name: "StreamResetException", kind: fault.Unavailable, reason: "OkHttp"},
		{name: "ConnectionShutdownException", kind: fault.Unavailable, reason: "OkHttp"},
		{name: "ClientException", kind: fault.Unavailable, reason: "Dart, for everything without an answer"},
		{name: "InterruptedIOException", kind: fault.Timeout, reason: "OkHttp's limit on a call"},
		{name: "TimeoutException", kind: fault.Timeout, reason: "Java, Dart and .NET"},
		{name: "SSLHandshakeException", kind: fault.Invalid, reason: "Java, without a sign of a broken connection"},
		{name: "TaskCanceledException", kind: fault.Canceled, reason: ".NET, where no limit is named"},
		{name: "OperationCanceledException", kind: fault.Canceled, reason: ".NET, where no limit is named"},
		{name: "InterruptedException", kind: fault.Canceled, reason: "Java: another thread wants it to end"},
	},
	texts: []row{
		// .NET
		{text: "could not establish trust relationship", kind: fault.Invalid, reason: ".NET: the certificate"},
		{text: "remote certificate is invalid", kind: fault.Invalid, reason: ".NET"},
		{text: "remote certificate was rejected", kind: fault.Invalid, reason: ".NET"},
		{text: "HttpClient.Timeout", kind: fault.Timeout, reason: ".NET's limit on a call, which it calls a cancellation"},
		{text: "party did not properly respond", kind: fault.UpstreamTimeout, reason: "Windows: no answer to the dial"},
		{text: "remote name could not be resolved", kind: fault.Unavailable, reason: ".NET"},
		{text: "underlying connection was closed", kind: fault.Unavailable, reason: ".NET"},
		{text: "unable to read data from the transport connection", kind: fault.Unavailable, reason: ".NET"},

		// Java
		{text: "connect timed out", kind: fault.UpstreamTimeout, reason: "Java: no answer to the dial"},
		{text: "connection prematurely closed", kind: fault.Unavailable, reason: "Reactor"},
		{text: "failed to respond", kind: fault.Unavailable, reason: "Apache: the server hung up"},
		{text: "unexpected end of file from server", kind: fault.Unavailable, reason: "Java"},

		// Apple
		{text: "NSURLErrorDomain ~ -1001", kind: fault.Timeout, reason: "Apple's limit on a call"},
		{text: "NSURLErrorDomain ~ -1003", kind: fault.Unavailable, reason: "Apple: no such host"},
		{text: "NSURLErrorDomain ~ -1004", kind: fault.Unavailable, reason: "Apple: could not connect"},
		{text: "NSURLErrorDomain ~ -1005", kind: fault.Unavailable, reason: "Apple: the connection was lost"},
		{text: "NSURLErrorDomain ~ -1006", kind: fault.Unavailable, reason: "Apple: no such host"},
		{text: "NSURLErrorDomain ~ -1009", kind: fault.Unavailable, reason: "Apple: offline"},
		{text: "NSURLErrorDomain ~ -1011", kind: fault.Unavailable, reason: "Apple: an answer that makes no sense"},
		{text: "NSURLErrorDomain ~ -1017", kind: fault.Unavailable, reason: "Apple: an answer that makes no sense"},
		{text: "NSURLErrorDomain ~ -1020", kind: fault.Unavailable, reason: "Apple: mobile data is off for now"},
		{text: "NSURLErrorDomain ~ -12", kind: fault.Invalid, reason: "Apple: TLS and certificates"},
		{text: "NSURLErrorDomain ~ -100", kind: fault.Invalid, reason: "Apple: the address"},
		{text: "NSURLErrorDomain ~ -999", kind: fault.Canceled, reason: "Apple: the caller"},
		{text: "server with the specified hostname could not be found", kind: fault.Unavailable, reason: "Apple"},
		{text: "could not connect to the server", kind: fault.Unavailable, reason: "Apple"},
		{text: "secure connection to the server cannot be made", kind: fault.Invalid, reason: "Apple: TLS"},

		// Ruby, Rust, Bun
		{text: "failed to open TCP connection", kind: fault.Unavailable, reason: "Ruby"},
		{text: "failed to open socket", kind: fault.Unavailable, reason: "Bun"},
		{text: "connection timed out", kind: fault.UpstreamTimeout, reason: "no answer to the dial"},

		// WebSockets: RFC 6455 and the registry of close codes.
		{text: "close ~ 1008", kind: fault.Refused, reason: "WebSocket: a policy"},
		{text: "close ~ 1009", kind: fault.TooLong, reason: "WebSocket: a message above the limit"},
		{text: "close ~ 1007", kind: fault.Invalid, reason: "WebSocket: the message sent is invalid"},
		{text: "close ~ 1003", kind: fault.Invalid, reason: "WebSocket: the message sent is invalid"},
		{text: "close ~ 1002", kind: fault.Invalid, reason: "WebSocket: the protocol"},
		{text: "close ~ 1000", kind: fault.Unavailable, reason: "WebSocket: closed before the answer"},
		{text: "close ~ 1001", kind: fault.Unavailable, reason: "WebSocket: the server goes away"},
		{text: "close ~ 1005", kind: fault.Unavailable, reason: "WebSocket: closed without a reason"},
		{text: "close ~ 1006", kind: fault.Unavailable, reason: "WebSocket: the connection broke"},
		{text: "close ~ 1011", kind: fault.Unavailable, reason: "WebSocket: a fault of the server"},
		{text: "close ~ 1012", kind: fault.Overloaded, reason: "WebSocket: the server starts anew"},
		{text: "close ~ 1013", kind: fault.Overloaded, reason: "WebSocket: try again later"},
		{text: "close ~ 1014", kind: fault.Unavailable, reason: "WebSocket: a bad gateway"},
		{text: "received 1008", kind: fault.Refused, reason: "WebSocket, in Python: a policy"},
		{text: "received 1009", kind: fault.TooLong, reason: "WebSocket, in Python: a message above the limit"},
		{text: "received 1011", kind: fault.Unavailable, reason: "WebSocket, in Python: a fault of the server"},
		{text: "received 1012", kind: fault.Overloaded, reason: "WebSocket, in Python: the server starts anew"},
		{text: "received 1013", kind: fault.Overloaded, reason: "WebSocket, in Python: try again later"},
		{text: "sent 1011", kind: fault.Unavailable, reason: "WebSocket, in Python: no sign of life"},
		{text: "no close frame received", kind: fault.Unavailable, reason: "WebSocket, in Python"},
	},
}

// curlTexts are curl's errors, as a program and under PHP: a number, and usually a
// more precise text, which is asked first. Source: curl.se/libcurl/c/libcurl-errors.html.
var curlTexts = table{
	vendor:       "curl",
	exceptStatus: isClientError,
	texts: []row{
		{text: "cURL error 3:", kind: fault.Invalid, reason: "the address"},
		{text: "cURL error 1:", kind: fault.Invalid, reason: "the protocol"},
		{text: "cURL error 60", kind: fault.Invalid, reason: "the certificate"},
		{text: "cURL error 58", kind: fault.Invalid, reason: "our certificate"},
		{text: "cURL error 77", kind: fault.Invalid, reason: "no certificates to check with"},
		{text: "cURL error 28", kind: fault.Timeout, reason: "its limit on a call"},
		{text: "cURL error", kind: fault.Unavailable, reason: "5 to 7, 16, 18, 35, 52, 55, 56, 92: no connection, or a broken one"},
		{text: "curl: (3)", kind: fault.Invalid, reason: "the address"},
		{text: "curl: (1)", kind: fault.Invalid, reason: "the protocol"},
		{text: "curl: (60)", kind: fault.Invalid, reason: "the certificate"},
		{text: "curl: (58)", kind: fault.Invalid, reason: "our certificate"},
		{text: "curl: (77)", kind: fault.Invalid, reason: "no certificates to check with"},
		{text: "curl: (28)", kind: fault.Timeout, reason: "its limit on a call"},
		{text: "curl: (", kind: fault.Unavailable, reason: "5 to 7, 16, 18, 35, 52, 55, 56, 92: no connection, or a broken one"},
	},
}
