package fault

// grpc is the vocabulary of google.rpc.Code, which Google's APIs state as
// "status" and gRPC errors as "code = …". Sources: google/rpc/code.proto, AIP-193.
var grpc = table{
	vendor: "grpc",
	names: []row{
		{name: "DEADLINE_EXCEEDED", kind: UpstreamTimeout, why: "the server's deadline"},
		{name: "UNAUTHENTICATED", kind: Auth},
		{name: "CANCELLED", kind: Unavailable, why: "the server gave up; our caller did not"},
	},
	family: []row{
		{name: "RESOURCE_EXHAUSTED", kind: RateLimited, why: "a quota, mostly that of a minute"},
		{name: "UNAVAILABLE", kind: Overloaded},
		{name: "PERMISSION_DENIED", kind: Refused},
	},
	vague: []row{
		{name: "INTERNAL", kind: Unavailable},
		{name: "ABORTED", kind: Unavailable, why: "a conflict that a new try can win"},
		{name: "DATA_LOSS", kind: Unavailable},
		{name: "INVALID_ARGUMENT", kind: Invalid},
		{name: "FAILED_PRECONDITION", kind: Invalid},
		{name: "OUT_OF_RANGE", kind: Invalid},
		{name: "UNIMPLEMENTED", kind: Invalid},
		{name: "NOT_FOUND", kind: Invalid},
		{name: "ALREADY_EXISTS", kind: Invalid},
	},
	says: []row{
		{says: "code = Unavailable", kind: Unavailable},
		{says: "code = Internal", kind: Unavailable},
		{says: "code = Aborted", kind: Unavailable},
		{says: "code = Unauthenticated", kind: Auth},
		{says: "code = Canceled", kind: Canceled},
	},
}
