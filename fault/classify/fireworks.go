package classify

import "github.com/ridethrough/ridethrough/fault"

// fireworks is Fireworks's API. Source: docs.fireworks.ai/guides/inference-error-codes.
var fireworks = table{
	vendor: "fireworks",
	names: []row{
		{name: "DEPLOYMENT_SCALING_UP", kind: fault.Overloaded, why: "503: the deployment was scaled to zero and is starting"},
		{name: "DEPLOYMENT_NOT_READY", kind: fault.Overloaded, why: "503: the deployment is starting"},
	},
	says: []row{
		{says: "deployment is * scaled to zero", kind: fault.Overloaded, why: "503: the deployment is starting"},
		{says: "is suspended * spending limit", kind: fault.Quota, why: "412, but the account has not paid"},
		{says: "model not found, inaccessible, and/or not deployed", kind: fault.Invalid, why: "404"},
	},
}
