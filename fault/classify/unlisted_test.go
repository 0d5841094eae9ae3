package classify_test

import (
	"encoding/json"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

// said is a sentence with its status, and what it means.
type said struct {
	status int
	says   string
	kind   fault.Kind
}

// check classifies each sentence as the error of a JSON body.
func check(t *testing.T, tests []said) {
	t.Helper()
	for _, tt := range tests {
		text, _ := json.Marshal(tt.says)
		body := `{"error":{"message":` + string(text) + `}}`
		if f := classify.FromResponse(tt.status, nil, []byte(body), start); f.Kind != tt.kind {
			t.Errorf("FromResponse(%d, %s): kind %v by %s, want %v", tt.status, body, f.Kind, f.Rule, tt.kind)
		}
	}
}

func TestFromResponse_OtherLanguages(t *testing.T) {
	check(t, []said{
		{429, "Das Monatskontingent Ihrer Organisation ist ausgeschöpft.", fault.Quota},
		{503, "Der Dienst ist derzeit überlastet. Bitte versuchen Sie es später erneut.", fault.Overloaded},
		{400, "Die Eingabe ist zu lang für dieses Modell.", fault.TooLong},
		{403, "Ihr Konto wurde gesperrt.", fault.Refused},
		{401, "Ungültiger API-Schlüssel", fault.Auth},
		{429, "Zu viele Anfragen. Bitte warten Sie 20 Sekunden.", fault.RateLimited},
		{429, "请求过于频繁,请稍后再试", fault.RateLimited},
		{400, "输入内容长度超过模型最大上下文限制", fault.TooLong},
		{503, "当前服务繁忙,请稍后重试", fault.Overloaded},
		{400, "内容涉嫌违规,已被拦截", fault.Refused},
		{404, "该模型已下线", fault.Invalid},
		{403, "您的账号已被冻结", fault.Refused},
		{429, "本月免费额度已用完", fault.Quota},
		{429, "リクエスト数が上限を超えました。しばらくしてから再試行してください。", fault.RateLimited},
		{402, "クレジット残高が不足しています", fault.Quota},
		{503, "ただいまアクセスが集中しています", fault.Overloaded},
		{400, "入力トークン数が上限を超えています", fault.TooLong},
		{401, "APIキーが無効です", fault.Auth},
		{429, "Trop de requêtes, réessayez dans 30 secondes", fault.RateLimited},
		{403, "Votre crédit est épuisé", fault.Quota},
		{503, "Service momentanément indisponible", fault.Overloaded},
		{429, "Has superado tu cuota mensual", fault.Quota},
		{503, "서비스가 일시적으로 과부하 상태입니다", fault.Overloaded},
		{429, "일일 사용 한도를 초과했습니다", fault.Quota},
		{429, "Превышен дневной лимит запросов", fault.Quota},
		{503, "Сервис временно недоступен", fault.Overloaded},
		{429, "5-hour limit reached ∙ resets 3am", fault.Quota},
		{400, "La demande dépasse la longueur de contexte", fault.TooLong},
		{404, "Das Modell wurde eingestellt", fault.Invalid},
		{500, "Interner Serverfehler", fault.Unavailable},
		{200, "Interner Serverfehler", fault.Unavailable},
		{200, "モデルが見つかりません", fault.Invalid},
		{200, "サーバーエラーが発生しました", fault.Unavailable},
		{200, "请求超时", fault.UpstreamTimeout},
		{403, "API密钥已过期", fault.Auth},
		{400, "並發請求數超過限制", fault.RateLimited},
		{429, "月間利用上限に達しました", fault.Quota},
		{429, "Guthaben aufgebraucht. Bitte laden Sie Ihr Konto auf.", fault.Quota},
		{503, "Guthabendienst nicht erreichbar", fault.Unavailable},
		{503, "余额查询服务暂时不可用", fault.Overloaded},
	})
}

func TestFromResponse_UnlistedWordings(t *testing.T) {
	check(t, []said{
		{429, "Your workspace has hit its monthly budget of $500. Ask an admin to raise it.", fault.Quota},
		{429, "Slow down! You are sending prompts faster than your plan allows.", fault.RateLimited},
		{503, "No GPUs are free right now, please retry shortly.", fault.Overloaded},
		{400, "gpt-4-32k was shut down on June 6, 2025. Use gpt-5 instead.", fault.Invalid},
		{404, "This model has been retired and can no longer be used.", fault.Invalid},
		{403, "Requests from your jurisdiction are not permitted.", fault.Refused},
		{403, "Your API key has been suspended due to suspicious activity", fault.Refused},
		{401, "API key expired on 2026-10-01", fault.Auth},
		{429, "Priority tier capacity is exhausted; standard tier is available.", fault.RateLimited},
		{429, "You have used 100% of your included requests for this billing period.", fault.Quota},
		{400, "Too many images: 25 provided, maximum is 20", fault.Invalid},
		{400, "The cached content projects/1/cachedContents/abc has expired", fault.Invalid},
		{503, "Region eu-west-1 is temporarily out of capacity for this model", fault.Overloaded},
		{451, "Data residency policy prevents processing this request outside the EU", fault.Refused},
		{403, "Data residency: this workspace may only use EU endpoints", fault.Refused},
		{500, "Billing service timed out while checking your quota", fault.Unavailable},
		{503, "quota service unavailable", fault.Overloaded},
		{502, "credit check failed: upstream connect error", fault.Unavailable},
		{429, "Daily request allotment used up. Comes back at midnight UTC.", fault.Quota},
		{429, "Concurrent session cap of 5 reached", fault.RateLimited},
		{200, "Worker died while generating", fault.Unavailable},
		{400, "Your input contains 210000 tokens which is more than the 200000 supported", fault.TooLong},
		{500, "model weights are still being downloaded (43%)", fault.Unavailable},
		{503, "model 'llama4' is being loaded into memory", fault.Overloaded},
		{404, "model 'llama4' not found, try pulling it first", fault.Invalid},
		{402, "Wallet empty", fault.Quota},
		{403, "Prepaid credit has run out", fault.Quota},
		{429, "token bucket empty, refill in 12s", fault.RateLimited},
		{429, "Free tier users may send 20 messages per day", fault.Quota},
		{400, "temperature must be between 0 and 2", fault.Invalid},
		{400, "Model is overloaded, please retry", fault.Overloaded},
		{403, "Organization disabled for policy violations", fault.Refused},
		{403, "You must accept the model licence before using it", fault.Refused},
		{403, "This feature is only for enterprise customers", fault.Refused},
		{402, "Your card was declined", fault.Quota},
		{429, "Org spend cap reached", fault.Quota},
		{429, "Weekly usage window exhausted, opens Monday", fault.Quota},
		{529, "site is overloaded", fault.Overloaded},
		{500, "worker ran out of memory and was killed", fault.Unavailable},
		{400, "Unsupported value: reasoning_effort xhigh", fault.Invalid},
		{400, "Could not decode image", fault.Invalid},
		{400, "The file id file-123 does not exist", fault.Invalid},
		{409, "Another request for this conversation is in progress", fault.RateLimited},
		{503, "Service shutting down for deploy", fault.Overloaded},
		{503, "circuit breaker open for provider openai", fault.Overloaded},
		{502, "all providers failed: anthropic 529 overloaded, openai 503", fault.Overloaded},
		{500, "Internal server error while loading the account plan", fault.Unavailable},
		{500, "failed to verify API key: database connection refused", fault.Unavailable},
		{503, "auth service unavailable, cannot validate token", fault.Overloaded},
		{500, "content moderation backend error", fault.Unavailable},
		{503, "moderation service is not available in your region right now", fault.Overloaded},
		{429, "Rate limited. Upgrade your plan or buy credits for higher limits", fault.RateLimited},
		{429, "You've exhausted your trial", fault.Quota},
		{429, "Too many tokens in flight, wait for running requests to finish", fault.RateLimited},
		{400, "invalid_grant: token expired", fault.Auth},
		{403, "User is not entitled to use claude-opus", fault.Refused},
		{200, "queue timeout: request waited 60s", fault.UpstreamTimeout},
		{503, "queue position 401, estimated wait 30 seconds", fault.Overloaded},
		{400, "Requested service tier 'flex' is unavailable for this model", fault.Invalid},
		{400, "max_tokens 64000 exceeds the maximum of 32000 for this model", fault.Invalid},
		{400, "messages: text content blocks must be non-empty", fault.Invalid},
		{429, "Quota reset in 3 days", fault.Quota},
		{429, "Quota exceeded, retry in 20 seconds", fault.RateLimited},
		{403, "VPN or proxy detected", fault.Refused},
		{403, "Workspace archived. Contact your administrator.", fault.Refused},
		{400, "claude-2.1 reached end of life on 2025-07-21", fault.Invalid},
		{410, "Gone: endpoint removed", fault.Invalid},
		{400, "deprecated model, migrate to gpt-5", fault.Invalid},
		{429, "Provisioned throughput exceeded for deployment", fault.RateLimited},
		{429, "PTU utilization at 100%, retry after 3 seconds", fault.RateLimited},
		{503, "Cross-region inference profile has no available capacity", fault.Overloaded},
		{503, "Flex processing capacity is not available, try again or use standard", fault.Overloaded},
		{408, "flex request timed out", fault.UpstreamTimeout},
		{403, "Your project does not have access to model o3", fault.Refused},
		{403, "To use this model complete organization verification", fault.Refused},
		{429, "Project budget consumed (100 USD of 100 USD)", fault.Quota},
		{402, "Trial ended", fault.Quota},
		{400, "Billing is not enabled for project 123", fault.Quota},
		{429, "resource pack exhausted", fault.Quota},
		{500, "Failed to connect to vector store while enforcing content policy", fault.Unavailable},
		{500, "unexpected status code 429 from upstream", fault.Unavailable},
		{502, "upstream returned 400 Bad Request: messages: roles must alternate", fault.Invalid},
		{500, "prompt is too long: 250000 tokens > 200000 maximum", fault.TooLong},
		{400, "This request would exceed the context window", fault.TooLong},
		{400, "Too many tokens: reduce your prompt", fault.TooLong},
		{400, "the request exceeds the available context size, try increasing it", fault.TooLong},
		{400, "image exceeds 5 MB maximum", fault.TooLong},
		{400, "at most 4 images are allowed per request", fault.Invalid},
		{400, "unsupported image media type image/tiff", fault.Invalid},
		{400, "cache_control.ttl: 1h is not enabled for this account", fault.Invalid},
		{400, "Cached content is too small: 500 tokens, minimum is 1024", fault.Invalid},
		{404, "batch_123 not found", fault.Invalid},
		{429, "Enqueued token limit reached. Please try again once some in_progress batches have been completed.", fault.RateLimited},
		{403, "geo-blocked", fault.Refused},
		{403, "This service is unavailable in Russia", fault.Refused},
		{401, "key disabled by administrator", fault.Auth},
		{401, "The token provided has been revoked", fault.Auth},
		{503, "cold start in progress", fault.Overloaded},
		{500, "llama runner terminated: exit status 2", fault.Unavailable},
		{429, "Exceeded tokens per day. Limit 1,000,000", fault.Quota},
		{429, "RPD exhausted", fault.Quota},
		{429, "You have reached the limit of 50 messages; next slot opens in 4h 12m", fault.Quota},
		{429, "Come back tomorrow", fault.Quota},
		{429, "Your rate limit tier allows 3 RPM", fault.RateLimited},
		{429, "anomalous traffic detected, requests blocked for 60 seconds", fault.RateLimited},
		{429, "Account suspended", fault.Refused},
		{429, "Subscription inactive", fault.Quota},
		{403, "Rate limit exceeded", fault.Refused},
		{401, "Too many failed login attempts", fault.Auth},
	})
}
