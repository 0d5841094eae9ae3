package classify

import "github.com/ridethrough/ridethrough/fault"

// grpc is the vocabulary of google.rpc.Code, which Google's APIs state as
// "status" and gRPC errors as "code = …". Sources: google/rpc/code.proto, AIP-193.
var grpc = table{
	vendor: "grpc",
	names: []row{
		{name: "DEADLINE_EXCEEDED", kind: fault.UpstreamTimeout, why: "the server's deadline"},
		{name: "UNAUTHENTICATED", kind: fault.Auth},
		{name: "CANCELLED", kind: fault.Unavailable, why: "the server gave up; our caller did not"},
	},
	family: []row{
		{name: "RESOURCE_EXHAUSTED", kind: fault.RateLimited, why: "a quota, mostly that of a minute"},
		{name: "UNAVAILABLE", kind: fault.Overloaded},
		{name: "PERMISSION_DENIED", kind: fault.Refused},
	},
	vague: []row{
		{name: "INTERNAL", kind: fault.Unavailable},
		{name: "ABORTED", kind: fault.Unavailable, why: "a conflict that a new try can win"},
		{name: "DATA_LOSS", kind: fault.Unavailable},
		{name: "INVALID_ARGUMENT", kind: fault.Invalid},
		{name: "FAILED_PRECONDITION", kind: fault.Invalid},
		{name: "OUT_OF_RANGE", kind: fault.Invalid},
		{name: "UNIMPLEMENTED", kind: fault.Invalid},
		{name: "NOT_FOUND", kind: fault.Invalid},
		{name: "ALREADY_EXISTS", kind: fault.Invalid},
	},
	says: []row{
		{says: "code = Unavailable", kind: fault.Unavailable},
		{says: "code = Internal", kind: fault.Unavailable},
		{says: "code = Aborted", kind: fault.Unavailable},
		{says: "code = Unauthenticated", kind: fault.Auth},
		{says: "code = Canceled", kind: fault.Canceled},
	},
}
