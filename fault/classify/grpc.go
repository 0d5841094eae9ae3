package classify

import "github.com/ridethrough/ridethrough/fault"

// grpc is the vocabulary of google.rpc.Code, which Google's APIs state as
// "status" and gRPC errors as "code = …". Sources: google/rpc/code.proto, AIP-193.
var grpc = table{
	vendor: "grpc",
	names: []row{
		{name: "DEADLINE_EXCEEDED", kind: fault.UpstreamTimeout, reason: "the server's deadline"},
		{name: "UNAUTHENTICATED", kind: fault.Auth},
		{name: "CANCELLED", kind: fault.Unavailable, reason: "the server gave up; our caller did not"},
	},
	broadNames: []row{
		{name: "RESOURCE_EXHAUSTED", kind: fault.RateLimited, reason: "a quota, mostly that of a minute"},
		{name: "UNAVAILABLE", kind: fault.Overloaded},
		{name: "PERMISSION_DENIED", kind: fault.Refused},
	},
	weakNames: []row{
		{name: "INTERNAL", kind: fault.Unavailable},
		{name: "ABORTED", kind: fault.Unavailable, reason: "a conflict that a new try can win"},
		{name: "DATA_LOSS", kind: fault.Unavailable},
		{name: "INVALID_ARGUMENT", kind: fault.Invalid},
		{name: "FAILED_PRECONDITION", kind: fault.Invalid},
		{name: "OUT_OF_RANGE", kind: fault.Invalid},
		{name: "UNIMPLEMENTED", kind: fault.Invalid},
		{name: "NOT_FOUND", kind: fault.Invalid},
		{name: "ALREADY_EXISTS", kind: fault.Invalid},
	},
	texts: []row{
		{text: "code = Unavailable", kind: fault.Unavailable},
		{text: "code = Internal", kind: fault.Unavailable},
		{text: "code = Aborted", kind: fault.Unavailable},
		{text: "code = Unauthenticated", kind: fault.Auth},
		{text: "code = Canceled", kind: fault.Canceled},
	},
}
