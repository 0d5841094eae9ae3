// The colours of the page: those of the system, light, or dark.
import { effect, signal } from '@preact/signals'

const key = 'ridethrough-theme'
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

// theme is the chosen one.
export const theme = signal<Theme>(themes.find((t) => t === localStorage.getItem(key)) ?? 'system')

// watchTheme applies the choice for as long as the page is open.
export function watchTheme(): void {
  effect(() => {
    localStorage.setItem(key, theme.value)
    document.documentElement.dataset.theme = theme.value
  })
}
