package tui_test

import (
	"image/color"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// On a light background our lines have the contrast that WCAG asks of text, in the themes that most people use.
func TestPalette_LightThemesAreReadable(t *testing.T) {
	themes := map[string]color.RGBA{
		"white": {0xff, 0xff, 0xff, 0xff}, "Solarized Light": {0xfd, 0xf6, 0xe3, 0xff}, "One Light": {0xfa, 0xfa, 0xfa, 0xff},
		"Gruvbox Light": {0xfb, 0xf1, 0xc7, 0xff}, "GitHub Light": {0xff, 0xff, 0xff, 0xff},
	}
	for theme, background := range themes {
		for name, c := range tui.OnLight {
			if got := contrast(c, background); got < 4.5 {
				t.Errorf("%s on %s: got a contrast of %.1f, want at least 4.5", name, theme, got)
			}
		}
	}
}

// contrast is the ratio of WCAG 2.2.
func contrast(a, b color.Color) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	linear := func(v uint32) float64 {
		f := float64(v) / 0xffff
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

// The terminal says which background it has; one that says nothing keeps its theme's colors.
func TestPalette_FollowsTheBackground(t *testing.T) {
	const themesYellow, darkAmber = "\x1b[33m", "\x1b[38;5;94m"
	for _, tt := range []struct {
		name       string
		background color.Color
		want       string
	}{
		{"unknown", nil, themesYellow}, {"dark", color.Black, themesYellow}, {"light", color.White, darkAmber},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, config(newService(t, fails(1, llmtest.Says("Back."))...)), 80, 24)
			if tt.background != nil {
				s.send(tea.BackgroundColorMsg{Color: tt.background})
			}
			s.types("x")
			s.wait(3 * time.Second)
			s.mu.Lock()
			defer s.mu.Unlock()
			if printed := strings.Join(s.printed, "\n"); !strings.Contains(printed, tt.want+"▲ Server overloaded") {
				t.Errorf("%s background: got %q, want the failure after %q", tt.name, printed, tt.want)
			}
		})
	}
}
