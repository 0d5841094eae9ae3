package app_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/app"
)

func TestCouncils_ModelNames(t *testing.T) {
	convene := worlds("ANTHROPIC_API_KEY=k OPENAI_API_KEY=k").Councils()
	c, err := convene([]string{"claude-opus-4-5", "openai/gpt-5"}, "o3")
	if err != nil || c.Check() != nil || c.Members[1].Model.Name().String() != "openai/gpt-5" || c.Aggregator.Model.Name().String() != "openai/o3" {
		t.Errorf("council of two models and a judge: got %+v and error %v, want openai/gpt-5 and openai/o3", c, err)
	}
	again, err := convene([]string{"gpt-5", "gpt-5"}, "")
	if err != nil || again.Aggregator.Model != nil || again.Breakers != c.Breakers {
		t.Errorf("council without a judge: got %+v and error %v, want the same breakers and no judge", again, err)
	}
	for _, names := range [][2]string{{"gemini-3", ""}, {"gpt-5", "gemini-3"}} {
		if _, err := convene([]string{"gpt-5", names[0]}, names[1]); !errors.Is(err, app.ErrCredentials) {
			t.Errorf("council of %q: got error %v, want %v", names, err, app.ErrCredentials)
		}
	}
}

func TestCouncils_ShareTheBreakersOfTheProcess(t *testing.T) {
	w := worlds("ANTHROPIC_API_KEY=k OPENAI_API_KEY=k")
	w.Shared = w.Models.Shared()
	ofGateway := &breaker.Breaker{}
	defer w.Shared.Add("anthropic", ofGateway)()
	names := []string{"claude-opus-4-5", "openai/gpt-5"}
	first, err := w.Councils()(names, "")
	if err != nil {
		t.Fatalf("council: %v", err)
	}
	second, err := w.Councils()(names, "")
	if err != nil {
		t.Fatalf("another council: %v", err)
	}
	if got := first.Breakers.Of("anthropic"); got != ofGateway {
		t.Errorf("breaker of an upstream that the gateway has: got %p, want the gateway's %p", got, ofGateway)
	}
	if got, want := second.Breakers.Of("openai"), first.Breakers.Of("openai"); got != want || got == ofGateway {
		t.Errorf("breaker of another provider: got %p, want the %p of the process", got, want)
	}
}

func ExampleAgents_Councils() {
	convene := worlds("OPENAI_API_KEY=sk").Councils()
	c, err := convene([]string{"openai/gpt-5", "openai/o3"}, "")
	fmt.Println(len(c.Members), err)
	_, err = convene([]string{"openai/gpt-5", "claude-opus-4-5"}, "")
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// no credentials for anthropic: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN
}
