package api_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// corpus returns answers of all kinds in which a model may break off. They are the same in each run.
func corpus() []string {
	r := rand.New(rand.NewPCG(1, 22))
	kinds := []func(*rand.Rand) string{
		prose, german, goCode, python, javaScript, yaml, rust, shell, sql, table, nestedLists, chinese, japanese, korean, emoji, spaces, refrain,
		hebrew, math, mixed,
	}
	var all []string
	for range 11 {
		for _, kind := range kinds {
			all = append(all, kind(r))
		}
	}
	return all
}

func Pick(r *rand.Rand, words string) string {
	all := strings.Fields(words)
	return all[r.IntN(len(all))]
}

func repeat(n int, part func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(part(i))
	}
	return b.String()
}

const nouns = "request answer circuit gateway model token upstream budget client journal worker lease probe policy stream header " +
	"connection deadline session cache retry server fault message outage"

func sentence(r *rand.Rand) string {
	return fmt.Sprintf("The %s %s the %s %s the %s, %s %d %ss were %s. ", Pick(r, nouns), Pick(r, "closes opens reads holds drops sends"),
		Pick(r, nouns), Pick(r, "before after behind without"), Pick(r, nouns), Pick(r, "because although while until"), r.IntN(90)+2,
		Pick(r, nouns), Pick(r, "lost found counted spent measured refused"))
}

func prose(r *rand.Rand) string {
	return repeat(4, func(i int) string {
		return strings.TrimSpace(repeat(3, func(int) string { return sentence(r) })) + "\n\n"
	}) + "That is all."
}

func german(r *rand.Rand) string {
	return repeat(7, func(int) string {
		return fmt.Sprintf("Die %s wird über %d Straßen geführt, daß »%s« größer als äußerst mäßig erscheint – %s. ",
			Pick(r, "Anfrage Antwort Verbindung Leitung Sitzung Prüfung"), r.IntN(50), Pick(r, nouns), Pick(r, "immerhin freilich übrigens höchstens"))
	})
}

func goCode(r *rand.Rand) string {
	return "Here is the code:\n\n```go\npackage main\n\nimport \"fmt\"\n\n" + repeat(4, func(i int) string {
		return fmt.Sprintf("// %s%d returns the %s.\nfunc %s%d(n int) (int, error) {\n\tif n > %d {\n\t\treturn 0, fmt.Errorf(\"%s: %%d\", n)\n\t}\n\tfor i := range n {\n\t\tn += i\n\t}\n\n\treturn n, nil\n}\n\n",
			Pick(r, nouns), i, Pick(r, nouns), Pick(r, nouns), i, r.IntN(900), Pick(r, nouns))
	}) + "```\n\nIt prints nothing."
}

func python(r *rand.Rand) string {
	return "```python\nimport asyncio\n\n\n" + repeat(5, func(i int) string {
		return fmt.Sprintf("class %s%d:\n    \"\"\"A %s.\"\"\"\n\n    def %s(self, n: int = %d) -> str:\n        if n %% 2:\n            return f\"{n!r} %s\"\n        else:\n            return None\n\n\n",
			Pick(r, nouns), i, Pick(r, nouns), Pick(r, nouns), r.IntN(900), Pick(r, nouns))
	}) + "```"
}

func javaScript(r *rand.Rand) string {
	return repeat(5, func(i int) string {
		return fmt.Sprintf("const %s%d = async ({ %s }) => {\n  const response = await fetch(`https://example.com/${%s}?n=%d`);\n  if (!response.ok) throw new Error('%s');\n  return response.json();\n};\n\n",
			Pick(r, nouns), i, Pick(r, nouns), Pick(r, nouns), r.IntN(900), Pick(r, nouns))
	})
}

func yaml(r *rand.Rand) string {
	return "~~~yaml\nservices:\n" + repeat(7, func(i int) string {
		return fmt.Sprintf("  %s-%d:\n    image: \"example/%s:%d\"\n    ports:\n      - \"%d:80\"\n    environment:\n      LEVEL: %s\n",
			Pick(r, nouns), i, Pick(r, nouns), r.IntN(20), 8000+r.IntN(900), Pick(r, nouns))
	}) + "~~~\n"
}

func rust(r *rand.Rand) string {
	return repeat(4, func(i int) string {
		return fmt.Sprintf("impl %s%d {\n    pub fn %s(&self, n: u%d) -> Result<(), Box<dyn Error>> {\n        match n {\n            %d => Ok(()),\n            _ => Err(\"%s\".into()),\n        }\n    }\n}\n\n",
			Pick(r, nouns), i, Pick(r, nouns), 8<<r.IntN(4), r.IntN(900), Pick(r, nouns))
	})
}

func shell(r *rand.Rand) string {
	return "Run this:\n\n```\n" + repeat(9, func(i int) string {
		return fmt.Sprintf("$ curl -sS 'http://localhost:%d/%s' | jq '.%s[%d]' > /tmp/%s.json && echo \"$?\"\n", 8000+r.IntN(900), Pick(r, nouns), Pick(r, nouns), i, Pick(r, nouns))
	}) + "```\n"
}

func sql(r *rand.Rand) string {
	return repeat(5, func(i int) string {
		return fmt.Sprintf("SELECT %s, COUNT(*) AS n%d\nFROM %ss\nWHERE %s >= %d AND note <> 'it''s \"%s\"'\nGROUP BY 1\nORDER BY n%d DESC;\n\n",
			Pick(r, nouns), i, Pick(r, nouns), Pick(r, nouns), r.IntN(900), Pick(r, nouns), i)
	})
}

func table(r *rand.Rand) string {
	return "## Results\n\n| Name | Count | Note |\n|:-----|------:|------|\n" + repeat(10, func(i int) string {
		return fmt.Sprintf("| %s | %d | %s and %s |\n", Pick(r, nouns), r.IntN(900), Pick(r, nouns), Pick(r, nouns))
	}) + "\nThe rest is below."
}

func nestedLists(r *rand.Rand) string {
	return repeat(4, func(i int) string {
		return fmt.Sprintf("%d. **%s**: the %s\n   - first `%s`\n     - then [%s](https://example.com/%d#%s)\n   - > quoted *%s*\n\n", i+1, Pick(r, nouns), Pick(r, nouns),
			Pick(r, nouns), Pick(r, nouns), r.IntN(900), Pick(r, nouns), Pick(r, nouns))
	})
}

func chinese(r *rand.Rand) string {
	return repeat(6, func(i int) string {
		return fmt.Sprintf("第%d个%s在%d毫秒之后%s，因此%s不会丢失。", i+1, Pick(r, "请求 回答 连接 会话 网关"), r.IntN(900), Pick(r, "超时 返回 关闭 继续 失败"), Pick(r, "数据 消息 令牌 结果 上下文"))
	})
}

func japanese(r *rand.Rand) string {
	return repeat(6, func(i int) string {
		return fmt.Sprintf("%sは%d秒後に%sしました。　それでも「%s」は失われません！\n", Pick(r, "サーバー ゲートウェイ モデル 接続 リクエスト"), r.IntN(900), Pick(r, "再試行 停止 応答 回復"), Pick(r, "回答 会話 結果 記録"))
	})
}

func korean(r *rand.Rand) string {
	return repeat(7, func(i int) string {
		return fmt.Sprintf("%s는 %d초 뒤에 다시 %s하고, %d번째 %s를 보냅니다. ", Pick(r, "서버 게이트웨이 모델 연결"), r.IntN(900), Pick(r, "시도 연결 응답 요청"), i, Pick(r, "요청 메시지 결과 답변"))
	})
}

func emoji(r *rand.Rand) string {
	return repeat(8, func(i int) string {
		return fmt.Sprintf("%s Step %d: %s the %s %s👩‍👩‍👧‍👦🏳️‍🌈 é%d ", Pick(r, "✅ 🚀 ❤️ 🇩🇪 👍🏽 ☑️"), i, Pick(r, "open close read send"), Pick(r, nouns), Pick(r, "🎉 🙈 👨‍💻 🤷🏾‍♀️"), r.IntN(900))
	})
}

func spaces(r *rand.Rand) string {
	return repeat(8, func(i int) string {
		return fmt.Sprintf("%s%s\t%d  %s%s", Pick(r, nouns), strings.Repeat(" ", r.IntN(6)+1), r.IntN(900), Pick(r, nouns), []string{"\n", "\n\n", "  \n", "\r\n", "\n\n\n\t", "\u00a0\n    "}[r.IntN(6)])
	}) + "end"
}

func refrain(r *rand.Rand) string {
	again := sentence(r)
	return repeat(5, func(i int) string { return again + sentence(r) + "\n" + strings.Repeat("-", r.IntN(30)+3) + "\n" })
}

func hebrew(r *rand.Rand) string {
	return repeat(7, func(i int) string {
		return fmt.Sprintf("הבקשה מספר %d הגיעה אל %s אחרי %d שניות, ולכן %s. ", i, Pick(r, "השרת המודל השער הלקוח"), r.IntN(900), Pick(r, "נשמרה נשלחה נדחתה הושלמה"))
	})
}

func math(r *rand.Rand) string {
	return repeat(6, func(i int) string {
		return fmt.Sprintf("$$\\int_{%d}^{\\infty} \\frac{x^{%d}}{e^{x}-%d}\\,dx \\le \\sum_{k=%d}^{n} \\alpha_{k} \\qquad (%d)$$\nSo \\(a_{%d} < %d\\) & \"b\" > c.\n", r.IntN(9), r.IntN(90), r.IntN(90), r.IntN(90), i, r.IntN(90), r.IntN(900))
	})
}

func mixed(r *rand.Rand) string {
	return sentence(r) + "\n\n" + table(r) + "\n\n" + goCode(r) + "\n\n" + chinese(r) + "\n" + emoji(r)
}
