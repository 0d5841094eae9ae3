package classify

import "github.com/ridethrough/ridethrough/fault"

// fireworks is Fireworks's API. Source: docs.fireworks.ai/guides/inference-error-codes.
var fireworks = table{
	vendor: "fireworks",
	names: []row{
		{name: "DEPLOYMENT_SCALING_UP", kind: fault.Overloaded, reason: "503: the deployment was scaled to zero and is starting"},
		{name: "DEPLOYMENT_NOT_READY", kind: fault.Overloaded, reason: "503: the deployment is starting"},
	},
	texts: []row{
		{text: "deployment is * scaled to zero", kind: fault.Overloaded, reason: "503: the deployment is starting"},
		{text: "is suspended * spending limit", kind: fault.Quota, reason: "412, but the account has not paid"},
		{text: "model not found, inaccessible, and/or not deployed", kind: fault.Invalid, reason: "404"},
	},
}
