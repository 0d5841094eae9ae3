package classify

import (
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// tongue is how much a row in another language than English proves, in percent: as much as an English wording.
const tongue = 50

// cross returns a row for each of the first words with each of the second shortly after it, as combine does,
// and one for each of the second with the first after it: word order differs between languages.
func cross(kind fault.Kind, window bool, why, nouns, states string) []row {
	return slices.Concat(combine(kind, window, why, nouns, states), combine(kind, window, why, states, nouns))
}

// says returns a row for each phrase. There is a bar between two of them.
func says(kind fault.Kind, window bool, why, phrases string) (rows []row) {
	for p := range strings.SplitSeq(phrases, "|") {
		rows = append(rows, row{text: p, kind: kind, window: window, reason: why})
	}
	return rows
}

// chineseWords infer a kind from Chinese words near each other, simplified and traditional.
func chineseWords() *table {
	return &table{
		vendor: "chinese-words", guessed: true, sure: tongue,
		texts: slices.Concat(
			says(fault.RateLimited, false, "a rate", "每分钟|每分鐘|每秒|限速|流量限制|流控|请求过多|請求過多|请求太多|太频繁|过于频繁"),
			cross(fault.RateLimited, false, "a rate", "频率|頻率|速率|并发|並發|请求数|調用頻率", "过高|過高|超|上限|限制|过快"),
			cross(fault.Quota, true, "a long window", "今日|当日|當日|每日|每天|本月|当月|每月|本周|每周", "上限|限额|额度|额已|配额|次数|用尽|用完|额|額"),
			cross(fault.Quota, true, "spent", "额度|額度|配额|配額|资源包|流量包|套餐", "不足|用尽|用盡|耗尽|耗盡|用完|超出|超限|已满|到期|过期"),
			cross(fault.Quota, false, "spent", "余额|餘額|积分|點數|点数|信用", "不足|用尽|用盡|耗尽|用完|为零|不够"),
			says(fault.Quota, false, "spent", "无可用额度|没有可用额度|未付费|账单逾期|预算|欠費|充值|儲值"),
			says(fault.Refused, false, "a policy", "敏感|违规|違規|安全策略|内容安全|不安全|涉嫌|审核|審核|合规|不当内容|有害"),
			says(fault.Refused, false, "a permission", "无权|無權|权限不足|權限不足|没有权限|沒有權限|未开通|禁止访问|封禁|冻结|实名认证|指定网段|所在地区|所在區域|该地区|不支持的国家"),
			cross(fault.Refused, false, "the account", "账户|账号|帳號|帳戶", "锁定|停用|禁用|注销|非活动|封"),
			cross(fault.Auth, false, "credentials", "密钥|密鑰|令牌|api key|apikey|鉴权|鑑權|认证|認證|身份验证|签名|token", "无效|無效|错误|錯誤|过期|過期|失败|失敗|不存在|失效|缺失|非法|不正确"),
			cross(fault.Invalid, false, "the model", "模型|接口|api", "不存在|下线|下線|未上架|不支持|未找到|找不到|弃用|不可用的模型"),
			cross(fault.TooLong, false, "a size", "输入|輸入|上下文|提示词|长度|長度|文本|字符|tokens", "过长|過長|太长|超过最大|超出最大|超过限制|超出限制|超过了|过大|超过模型"),
			cross(fault.Invalid, false, "the request", "参数|參數|请求格式", "错误|錯誤|非法|无效|無效|有误|缺失|不合法"),
			says(fault.Overloaded, false, "load", "拥挤|擁擠|过载|過載|算力不足|资源不足|資源不足|排队|无可用渠道|没有可用|维护|維護|加载中|加載中|正在加载|正在启动|忙碌|流量过大|请求量过大|访问量|高峰"),
			cross(fault.Overloaded, false, "for a while", "暂时|暂不|暫時|目前|当前", "无法提供|不可用|無法使用|无法使用|可用|无法访问"),
			says(fault.UpstreamTimeout, false, "a time limit", "超时|逾時|超時"),
		),
	}
}

// asianWords are those of Japanese and Korean.
func asianWords() *table {
	return &table{
		vendor: "asian-words", guessed: true, sure: tongue,
		texts: slices.Concat(
			says(fault.RateLimited, false, "a rate", "レート制限|レートリミット|リクエストが多すぎ|1分あたり|毎分|同時接続|同時リクエスト|속도 제한|요청이 너무|너무 많은 요청|분당|초당|동시 요청"),
			cross(fault.RateLimited, false, "a rate", "リクエスト数|リクエスト回数|요청 수|요청 한도", "上限|制限|超え|超過|초과|도달"),
			cross(fault.Quota, true, "a long window", "月間|今月|本日|日次|1日|月次|一日|일일|월간|하루|이번 달", "上限|制限|使用量|クォータ|超え|한도|할당|사용량|초과"),
			cross(fault.Quota, true, "spent", "クォータ|利用枠|使用枠|割り当て|할당량|쿼터|사용 한도|사용량 한도|利用上限|使用上限", "超え|超過|使い切|不足|達し|초과|소진|도달"),
			cross(fault.Quota, false, "spent", "クレジット|残高|予算|ポイント|크레딧|잔액|예산|포인트", "不足|足り|使い切|残って|ありません|超え|상한|부족|소진|초과|없습니다"),
			says(fault.Quota, false, "a bill", "お支払い|支払い|결제"),
			says(fault.Refused, false, "a policy", "ポリシー|不適切|コンテンツフィルタ|安全性|규정|정책|부적절|유해"),
			says(fault.Refused, false, "a permission", "アクセスを拒否|アクセスが拒否|権限がありません|許可されていません|お住まいの|ご利用いただけない地域|권한이 없|접근이 거부|액세스가 거부|지원되지 않는 국가|지원되지 않는 지역|지역에서"),
			cross(fault.Refused, false, "the account", "アカウント|계정", "停止|無効|凍結|ロック|정지|비활성|차단"),
			cross(fault.Auth, false, "credentials", "apiキー|api キー|アクセストークン|トークン|認証|キー|api 키|인증|토큰", "無効|失敗|期限切れ|有効期限|正しくありません|正しくない|不正|見つかりません|유효하지|잘못|만료|실패|올바르지"),
			cross(fault.Invalid, false, "the model", "モデル|모델", "見つかりません|存在しません|存在しない|廃止|提供終了|終了しました|サポートされて|対応していません|찾을 수 없|존재하지|지원되지|지원하지|종료"),
			cross(fault.TooLong, false, "a size", "トークン|入力|プロンプト|コンテキスト|文字数|メッセージ|입력|토큰|컨텍스트|프롬프트|메시지", "長すぎ|超えて|超えま|超過|大きすぎ|너무 깁|너무 길|초과|깁니다"),
			cross(fault.Invalid, false, "the request", "パラメータ|パラメーター|リクエスト|매개변수|요청", "不正|無効|正しくありません|잘못|유효하지"),
			says(fault.Overloaded, false, "load", "混雑|混み合|過負荷|アクセスが集中|アクセス集中|高負荷|メンテナンス|一時的に利用|現在利用できません|現在ご利用|容量が不足|読み込み中|ロード中|起動中|과부하|혼잡|점검|일시적으로|사용할 수 없습니다|로딩|로드 중|접속자가 많"),
			says(fault.UpstreamTimeout, false, "a time limit", "タイムアウト|時間切れ|시간 초과|시간이 초과|타임아웃"),
		),
	}
}

// germanWords infer a kind from German words near each other.
func germanWords() *table {
	return &table{
		vendor: "german-words", guessed: true, sure: tongue,
		texts: slices.Concat(
			says(fault.RateLimited, false, "a rate", "zu viele anfragen|zu viele gleichzeitige|zu viele parallele|anfragelimit|ratenlimit|ratenbegrenzung|anfragen pro minute|pro minute|pro sekunde|drosselung|gedrosselt|anfragerate"),
			cross(fault.Quota, true, "a long window", "täglich|tages|monatlich|monats|wöchentlich|wochen|heutig", "limit|kontingent|grenze|budget|volumen"),
			says(fault.Quota, true, "a long window", "tageslimit|tageskontingent|monatslimit|monatskontingent|wochenlimit|pro tag|pro monat"),
			cross(fault.Quota, true, "spent", "kontingent|nutzungslimit|freikontingent", "aufgebraucht|erschöpft|überschritten|ausgeschöpft|erreicht|verbraucht"),
			cross(fault.Quota, false, "spent", "guthaben|budget|ausgabenlimit|kredit|credits", "aufgebraucht|erschöpft|überschritten|nicht ausreichend|reicht nicht|leer|zu niedrig|unzureichend|verbraucht|kein|nicht genügend|aufladen|erreicht"),
			cross(fault.Quota, false, "a bill", "zahlung|rechnung", "fehlgeschlagen|erforderlich|offen|überfällig|ausstehend"),
			says(fault.Refused, false, "a policy", "verstößt gegen|verstoß gegen|inhaltsfilter|inhaltsrichtlinie|nutzungsrichtlinie|richtlinien verletzt"),
			says(fault.Refused, false, "a permission", "zugriff verweigert|keine berechtigung|nicht berechtigt|nicht gestattet|nicht erlaubt|in ihrem land|in ihrer region|für ihre region|administrator gesperrt|blockiert durch"),
			cross(fault.Refused, false, "the account", "konto|account|organisation", "gesperrt|deaktiviert|eingefroren"),
			cross(fault.Auth, false, "credentials", "api schlüssel|api key|schlüssel|zugriffstoken|token|anmeldedaten|zugangsdaten|authentifizierung", "ungültig|abgelaufen|fehlt|widerrufen|falsch|fehlgeschlagen|erforderlich|nicht gefunden"),
			says(fault.Auth, false, "credentials", "anmeldung erforderlich|nicht autorisiert|nicht authentifiziert"),
			cross(fault.Invalid, false, "the model", "modell", "nicht gefunden|existiert nicht|eingestellt|nicht unterstützt|nicht mehr|unbekannt|abgekündigt|nicht vorhanden"),
			cross(fault.TooLong, false, "a size", "eingabe|anfrage|prompt|kontext|nachricht|unterhaltung|token", "zu lang|zu groß|überschreit|übersteig"),
			cross(fault.Invalid, false, "the request", "anfrage|parameter", "ungültig|fehlerhaft"),
			says(fault.Overloaded, false, "load", "überlastet|überlastung|ausgelastet|auslastung|vorübergehend nicht|derzeit nicht verfügbar|zurzeit nicht|momentan nicht|wartung|kapazität|wird geladen|wird gerade geladen|hohe last|hoher last"),
			says(fault.UpstreamTimeout, false, "a time limit", "zeitüberschreitung|zeitlimit"),
		),
	}
}

// romanceWords are those of French, Spanish, Portuguese and Italian.
func romanceWords() *table {
	return &table{
		vendor: "romance-words", guessed: true, sure: tongue,
		texts: slices.Concat(
			says(fault.RateLimited, false, "a rate", "trop de requêtes|limite de débit|par minute|par seconde|demasiadas solicitudes|demasiadas peticiones|límite de velocidad|límite de solicitudes|por minuto|por segundo|muitas solicitações|muitas requisições|limite de taxa|troppe richieste|al minuto"),
			cross(fault.Quota, true, "a long window", "mensuel|quotidien|journali|hebdomadaire|mensual|diari|semanal|mensal|diári|mensile|giornalier", "limit|límite|quota|cuota|plafond|cota"),
			cross(fault.Quota, true, "spent", "quota|cuota|cota", "dépassé|épuisé|atteint|excedid|agotad|superad|esgotad|superat|esaurit"),
			cross(fault.Quota, false, "spent", "crédit|solde|budget|saldo|presupuesto|credito", "insuffisant|épuisé|dépassé|insuficiente|agotad|excedid|esgotad|insufficiente|esaurit"),
			says(fault.Quota, false, "a bill", "paiement requis|paiement refusé|pago requerido|pagamento"),
			says(fault.Refused, false, "a permission", "accès interdit|accès refusé|acceso denegado|acesso negado|accesso negato|permission refusée|permiso denegado|no tiene permiso|não tem permissão|pas disponible dans votre|no está disponible en su|não está disponível n"),
			says(fault.Refused, false, "a policy", "politique de contenu|enfreint|infringe|política de contenido|políticas de uso|política de conteúdo"),
			cross(fault.Refused, false, "the account", "compte|cuenta|conta|account", "suspendu|désactivé|suspendida|desactivada|bloqueada|suspensa|desativada|sospeso|disattivato"),
			cross(fault.Auth, false, "credentials", "clé|jeton|authentification|clave|autenticación|chave|autenticação|chiave|autenticazione", "invalide|expiré|manquante|échoué|requise|no válida|inválida|incorrecta|expirad|caducad|fallid|falhou|non valida|scaduta|fallita"),
			cross(fault.Invalid, false, "the model", "modèle|modelo|modello", "introuvable|n'existe pas|obsolète|retiré|non pris en charge|plus disponible|no encontrado|no existe|obsoleto|retirado|não encontrado|não existe|non trovato|non esiste"),
			cross(fault.TooLong, false, "a size", "contexte|requête|entrée|message|invite|contexto|entrada|mensaje|mensagem|contesto|input|prompt", "trop long|trop grand|trop volumineu|dépasse|demasiado larg|demasiado grande|excede|supera|muito long|troppo lung"),
			cross(fault.Invalid, false, "the request", "requête|solicitud|solicitação|richiesta|paramètre|parámetro", "invalide|no válida|inválid|non valida"),
			says(fault.Overloaded, false, "load", "surchargé|surcharge|sobrecargad|sovraccaric|temporairement indisponible|actuellement indisponible|momentanément indisponible|en maintenance|temporalmente|no disponible en este momento|en mantenimiento|temporariamente|em manutenção|temporaneamente|in manutenzione|en ce moment|en cours de chargement"),
			says(fault.UpstreamTimeout, false, "a time limit", "délai de lecture dépassé|délai d'attente|délai dépassé|délai expiré|tiempo de espera|tempo limite|tempo esgotado|tempo scaduto"),
		),
	}
}

// russianWords infer a kind from Russian words near each other. Their capitals are not folded, so that words
// that may begin a sentence are without their first letter's case.
func russianWords() *table {
	return &table{
		vendor: "russian-words", guessed: true, sure: tongue,
		texts: slices.Concat(
			cross(fault.Quota, true, "a long window", "невной|уточный|есячный|едельный|невная|есячная", "лимит|квот"),
			cross(fault.Quota, false, "spent", "вота|воту|редств|аланс|редит", "исчерпан|превышен|едостаточно|закончил"),
			says(fault.RateLimited, false, "a rate", "лишком много запросов|в минуту|в секунду|астота запросов|имит запросов"),
			says(fault.Refused, false, "a permission", "оступ запрещ|оступ закрыт|ет доступа|едостаточно прав|в вашем регионе|в вашей стране|ккаунт заблокирован|олитик"),
			cross(fault.Auth, false, "credentials", "ключ|токен|утентификац", "едействител|еверный|еверен|истёк|истек|не удалась"),
			cross(fault.Invalid, false, "the model", "одель", "не найдена|не существует|не поддерживается|устарела"),
			says(fault.TooLong, false, "a size", "лишком длинн|лишком больш|ревышает максимальн|онтекст превыш"),
			says(fault.Overloaded, false, "load", "ерегружен|ременно недоступ|ехническ"),
			says(fault.UpstreamTimeout, false, "a time limit", "айм-аут|аймаут|ремя ожидания"),
		),
	}
}

// failureWords are the words of a server that has failed, in those languages. With a 4xx they say less than the
// status.
func failureWords() *table {
	return &table{
		vendor: "failure-words", guessed: true, sure: tongue, exceptStatus: isClientError,
		texts: says(fault.Unavailable, false, "a fault of the server",
			"内部错误|內部錯誤|系统异常|系统错误|系統錯誤|服务器错误|服务异常|服务出错|网络错误|网络异常|请求上游失败|上游返回异常|上游异常|连接失败|未知错误|"+
				"内部エラー|サーバーエラー|サーバエラー|サーバー内部|接続できません|取り出せません|通信エラー|내부 오류|서버 오류|내부 서버|연결할 수 없|오류가 발생|"+
				"interner fehler|interner serverfehler|serverfehler|unerwarteter fehler|verbindung fehlgeschlagen|nicht erreichbar|verbindung zu|"+
				"erreur interne|erreur du serveur|error interno|error del servidor|erro interno|erro do servidor|errore interno|n'a pas pu être|"+
				"нутренняя ошибка|шибка сервера|е удалось|е может быть получен|устой ответ",
		),
	}
}
