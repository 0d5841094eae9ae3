package classify

import "github.com/ridethrough/ridethrough/fault"

// runtimes is what the HTTP clients of .NET, Java, PHP, Ruby, Rust, Swift, Deno
// and Bun say, and WebSockets when they close. Programs written in them end up
// behind relays and plug-ins, and their text in our answers.
var runtimes = table{
	vendor: "runtimes",
	not:    isRefusal,
	names: []row{
		{name: "CURLE_OPERATION_TIMEDOUT", kind: fault.Timeout, why: "curl 28"},
		{name: "CURLE_COULDNT_RESOLVE_HOST", kind: fault.Unavailable, why: "curl 6"},
		{name: "CURLE_COULDNT_CONNECT", kind: fault.Unavailable, why: "curl 7"},
		{name: "CURLE_GOT_NOTHING", kind: fault.Unavailable, why: "curl 52"},
		{name: "SocketTimeoutException", says: "connect timed out", kind: fault.UpstreamTimeout, why: "Java: nobody has answered the dial"},
		{name: "HttpConnectTimeoutException", kind: fault.UpstreamTimeout, why: "Java"},
		{name: "ConnectTimeoutException", kind: fault.UpstreamTimeout, why: "Java: Apache and Netty"},
		{name: "HttpRequestTimeoutException", kind: fault.Timeout, why: "Ktor"},
		{name: "ReadTimeoutException", kind: fault.Timeout, why: "Netty"},
		{name: "NoHttpResponseException", kind: fault.Unavailable, why: "Apache: the server hung up"},
		{name: "PrematureCloseException", kind: fault.Unavailable, why: "Reactor: the answer broke off"},
		{name: "UnresolvedAddressException", kind: fault.Unavailable, why: "Java: a resolver's hiccup, or a name that is gone"},
		{name: "MalformedURLException", kind: fault.Invalid, why: "Java"},
		{name: "URISyntaxException", kind: fault.Invalid, why: "Java"},
		{name: "UriFormatException", kind: fault.Invalid, why: ".NET"},
		{name: "SSLPeerUnverifiedException", kind: fault.Invalid, why: "Java: the certificate is another's"},
		{name: "RemoteCertificateNameMismatch", kind: fault.Invalid, why: ".NET"},
		{name: "RemoteCertificateChainErrors", kind: fault.Invalid, why: ".NET"},
		{name: "NotValidForName", kind: fault.Invalid, why: "rustls: the certificate is another's"},
		{name: "OpenTimeout", kind: fault.UpstreamTimeout, why: "Ruby's Net::OpenTimeout"},
		{name: "IncompleteMessage", kind: fault.Unavailable, why: "hyper: the answer broke off"},
		{name: "FailedToOpenSocket", kind: fault.Unavailable, why: "Bun"},
		{name: "CancellationException", kind: fault.Canceled, why: "Java"},
		{name: "JobCancellationException", kind: fault.Canceled, why: "Kotlin"},
	},
	vague: []row{
		{name: "SocketException", kind: fault.Unavailable, why: "Java, .NET and Dart, for everything about a socket"},
		{name: "SocketError", kind: fault.Unavailable, why: "Ruby, for everything about a socket"},
		{name: "ConnectException", kind: fault.Unavailable, why: "Java and Guzzle"},
		{name: "ConnectionFailed", kind: fault.Unavailable, why: "Faraday"},
		{name: "HttpRequestException", kind: fault.Unavailable, why: ".NET, for everything without an answer"},
		{name: "ClosedChannelException", kind: fault.Unavailable, why: "Java"},
		{name: "StreamResetException", kind: fault.Unavailable, why: "OkHttp"},
		{name: "ConnectionShutdownException", kind: fault.Unavailable, why: "OkHttp"},
		{name: "ClientException", kind: fault.Unavailable, why: "Dart, for everything without an answer"},
		{name: "InterruptedIOException", kind: fault.Timeout, why: "OkHttp's limit on a call"},
		{name: "TimeoutException", kind: fault.Timeout, why: "Java, Dart and .NET"},
		{name: "SSLHandshakeException", kind: fault.Invalid, why: "Java, where nothing says that the connection broke"},
		{name: "TaskCanceledException", kind: fault.Canceled, why: ".NET, where no limit is named"},
		{name: "OperationCanceledException", kind: fault.Canceled, why: ".NET, where no limit is named"},
		{name: "InterruptedException", kind: fault.Canceled, why: "Java: another thread wants it to end"},
	},
	says: []row{
		// .NET
		{says: "could not establish trust relationship", kind: fault.Invalid, why: ".NET: the certificate"},
		{says: "remote certificate is invalid", kind: fault.Invalid, why: ".NET"},
		{says: "remote certificate was rejected", kind: fault.Invalid, why: ".NET"},
		{says: "HttpClient.Timeout", kind: fault.Timeout, why: ".NET's limit on a call, which it calls a cancellation"},
		{says: "party did not properly respond", kind: fault.UpstreamTimeout, why: "Windows: nobody has answered the dial"},
		{says: "remote name could not be resolved", kind: fault.Unavailable, why: ".NET"},
		{says: "underlying connection was closed", kind: fault.Unavailable, why: ".NET"},
		{says: "unable to read data from the transport connection", kind: fault.Unavailable, why: ".NET"},

		// Java
		{says: "connect timed out", kind: fault.UpstreamTimeout, why: "Java: nobody has answered the dial"},
		{says: "connection prematurely closed", kind: fault.Unavailable, why: "Reactor"},
		{says: "failed to respond", kind: fault.Unavailable, why: "Apache: the server hung up"},
		{says: "unexpected end of file from server", kind: fault.Unavailable, why: "Java"},

		// Apple
		{says: "NSURLErrorDomain ~ -1001", kind: fault.Timeout, why: "Apple's limit on a call"},
		{says: "NSURLErrorDomain ~ -1003", kind: fault.Unavailable, why: "Apple: no such host"},
		{says: "NSURLErrorDomain ~ -1004", kind: fault.Unavailable, why: "Apple: could not connect"},
		{says: "NSURLErrorDomain ~ -1005", kind: fault.Unavailable, why: "Apple: the connection was lost"},
		{says: "NSURLErrorDomain ~ -1006", kind: fault.Unavailable, why: "Apple: no such host"},
		{says: "NSURLErrorDomain ~ -1009", kind: fault.Unavailable, why: "Apple: offline"},
		{says: "NSURLErrorDomain ~ -1011", kind: fault.Unavailable, why: "Apple: an answer that makes no sense"},
		{says: "NSURLErrorDomain ~ -1017", kind: fault.Unavailable, why: "Apple: an answer that makes no sense"},
		{says: "NSURLErrorDomain ~ -1020", kind: fault.Unavailable, why: "Apple: mobile data is off for now"},
		{says: "NSURLErrorDomain ~ -12", kind: fault.Invalid, why: "Apple: TLS and certificates"},
		{says: "NSURLErrorDomain ~ -100", kind: fault.Invalid, why: "Apple: the address"},
		{says: "NSURLErrorDomain ~ -999", kind: fault.Canceled, why: "Apple: the caller"},
		{says: "server with the specified hostname could not be found", kind: fault.Unavailable, why: "Apple"},
		{says: "could not connect to the server", kind: fault.Unavailable, why: "Apple"},
		{says: "secure connection to the server cannot be made", kind: fault.Invalid, why: "Apple: TLS"},

		// Ruby, Rust, Bun
		{says: "failed to open TCP connection", kind: fault.Unavailable, why: "Ruby"},
		{says: "failed to open socket", kind: fault.Unavailable, why: "Bun"},
		{says: "connection timed out", kind: fault.UpstreamTimeout, why: "nobody has answered the dial"},

		// WebSockets: RFC 6455 and the registry of close codes.
		{says: "close ~ 1008", kind: fault.Refused, why: "WebSocket: a policy"},
		{says: "close ~ 1009", kind: fault.TooLong, why: "WebSocket: a message above the limit"},
		{says: "close ~ 1007", kind: fault.Invalid, why: "WebSocket: what we have sent"},
		{says: "close ~ 1003", kind: fault.Invalid, why: "WebSocket: what we have sent"},
		{says: "close ~ 1002", kind: fault.Invalid, why: "WebSocket: the protocol"},
		{says: "close ~ 1000", kind: fault.Unavailable, why: "WebSocket: closed before the answer"},
		{says: "close ~ 1001", kind: fault.Unavailable, why: "WebSocket: the server goes away"},
		{says: "close ~ 1005", kind: fault.Unavailable, why: "WebSocket: closed without a reason"},
		{says: "close ~ 1006", kind: fault.Unavailable, why: "WebSocket: the connection broke"},
		{says: "close ~ 1011", kind: fault.Unavailable, why: "WebSocket: a fault of the server"},
		{says: "close ~ 1012", kind: fault.Overloaded, why: "WebSocket: the server starts anew"},
		{says: "close ~ 1013", kind: fault.Overloaded, why: "WebSocket: try again later"},
		{says: "close ~ 1014", kind: fault.Unavailable, why: "WebSocket: a bad gateway"},
		{says: "received 1008", kind: fault.Refused, why: "WebSocket, in Python: a policy"},
		{says: "received 1009", kind: fault.TooLong, why: "WebSocket, in Python: a message above the limit"},
		{says: "received 1011", kind: fault.Unavailable, why: "WebSocket, in Python: a fault of the server"},
		{says: "received 1012", kind: fault.Overloaded, why: "WebSocket, in Python: the server starts anew"},
		{says: "received 1013", kind: fault.Overloaded, why: "WebSocket, in Python: try again later"},
		{says: "sent 1011", kind: fault.Unavailable, why: "WebSocket, in Python: no sign of life"},
		{says: "no close frame received", kind: fault.Unavailable, why: "WebSocket, in Python"},
	},
}

// curl is what curl says, as a program and under PHP: its number, and mostly a
// sentence that says more and is asked first. Source: curl.se/libcurl/c/libcurl-errors.html.
var curl = table{
	vendor: "curl",
	not:    isRefusal,
	says: []row{
		{says: "cURL error 3:", kind: fault.Invalid, why: "the address"},
		{says: "cURL error 1:", kind: fault.Invalid, why: "the protocol"},
		{says: "cURL error 60", kind: fault.Invalid, why: "the certificate"},
		{says: "cURL error 58", kind: fault.Invalid, why: "our certificate"},
		{says: "cURL error 77", kind: fault.Invalid, why: "no certificates to check with"},
		{says: "cURL error 28", kind: fault.Timeout, why: "its limit on a call"},
		{says: "cURL error", kind: fault.Unavailable, why: "5 to 7, 16, 18, 35, 52, 55, 56, 92: no connection, or a broken one"},
		{says: "curl: (3)", kind: fault.Invalid, why: "the address"},
		{says: "curl: (1)", kind: fault.Invalid, why: "the protocol"},
		{says: "curl: (60)", kind: fault.Invalid, why: "the certificate"},
		{says: "curl: (58)", kind: fault.Invalid, why: "our certificate"},
		{says: "curl: (77)", kind: fault.Invalid, why: "no certificates to check with"},
		{says: "curl: (28)", kind: fault.Timeout, why: "its limit on a call"},
		{says: "curl: (", kind: fault.Unavailable, why: "5 to 7, 16, 18, 35, 52, 55, 56, 92: no connection, or a broken one"},
	},
}
