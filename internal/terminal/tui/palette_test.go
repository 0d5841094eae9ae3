package tui_test

import (
	"image/color"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm/llmtest"
)

// theme is a terminal's background, and those of its colors that our lines have on it.
type theme struct {
	background color.RGBA
	own        map[string]color.RGBA
}

func rgb(n uint32) color.RGBA { return color.RGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), 0xff} }

func darkTheme(background, yellow, green, cyan uint32) theme {
	return theme{rgb(background), map[string]color.RGBA{"amber": rgb(yellow), "green": rgb(green), "cyan": rgb(cyan)}}
}

// Our lines have the contrast that WCAG asks of text, in the themes that most people use.
func TestPalette_IsReadableInCommonThemes(t *testing.T) {
	lights := map[string]theme{
		"white": {background: rgb(0xffffff)}, "Solarized Light": {background: rgb(0xfdf6e3)}, "One Light": {background: rgb(0xfafafa)},
		"Gruvbox Light": {background: rgb(0xfbf1c7)}, "Tango Light": {background: rgb(0xeeeeec)},
	}
	darks := map[string]theme{
		"black":            darkTheme(0x000000, 0xcdcd00, 0x00cd00, 0x00cdcd), // xterm's colors
		"Visual Studio":    darkTheme(0x1e1e1e, 0xe5e510, 0x0dbc79, 0x11a8cd),
		"Solarized Dark":   darkTheme(0x002b36, 0xb58900, 0x859900, 0x2aa198),
		"One Dark":         darkTheme(0x282c34, 0xe5c07b, 0x98c379, 0x56b6c2),
		"Windows Terminal": darkTheme(0x0c0c0c, 0xc19c00, 0x13a10e, 0x3a96dd),
	}
	for _, of := range []struct {
		themes map[string]theme
		ours   map[string]color.Color
	}{{lights, tui.OnLight()}, {darks, tui.OnDark()}} {
		for name, theme := range of.themes {
			colors := maps.Clone(of.ours)
			for c, own := range theme.own {
				colors[c] = own
			}
			for _, c := range slices.Sorted(maps.Keys(colors)) {
				got := contrast(colors[c], theme.background)
				t.Logf("%-16s %-5s %4.1f", name, c, got)
				if got < 4.5 {
					t.Errorf("%s on %s: got a contrast of %.1f, want at least 4.5", c, name, got)
				}
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
	const (
		yellow, darkAmber          = "\x1b[33m", "\x1b[38;5;94m"
		faint, lightGrey, darkGrey = "\x1b[2m", "\x1b[38;5;247m", "\x1b[38;5;240m"
	)
	for _, tt := range []struct {
		name         string
		background   color.Color
		amber, faint string
	}{
		{"unknown", nil, yellow, faint}, {"dark", color.Black, yellow, lightGrey}, {"light", color.White, darkAmber, darkGrey},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, config(newService(t, fails(1, llmtest.Says("Back."))...)), 80, 24)
			if tt.background != nil {
				s.send(tea.BackgroundColorMsg{Color: tt.background})
			}
			s.types("x")
			s.wait(3 * time.Second)
			for what, want := range map[string]string{"the failure": tt.amber + "▲ Server overloaded", "the keys": tt.faint} {
				if got := s.written(); !strings.Contains(got, want) {
					t.Errorf("%s background: got %q, want %s after %q", tt.name, got, what, want)
				}
			}
		})
	}
}
