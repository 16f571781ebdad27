import { computed, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'sluice-theme'

const read = (): Theme => {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

/** The chosen theme. */
export const theme = signal<Theme>(read())

const systemIsDark = matchMedia('(prefers-color-scheme: dark)')
const system = signal<Theme>(systemIsDark.matches ? 'dark' : 'light')
systemIsDark.addEventListener('change', ({ matches }) => {
  system.value = matches ? 'dark' : 'light'
})

/** The theme that the page shows. Plots read it to draw themselves again. */
export const shownTheme = computed(() => (theme.value === 'system' ? system.value : theme.value))

/** What a control that changes it once changes it to. */
export const otherTheme = computed(() => (shownTheme.value === 'dark' ? 'light' : 'dark'))

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen
  if (chosen === 'system') {
    localStorage.removeItem(KEY)
    delete document.documentElement.dataset['theme']
    return
  }
  localStorage.setItem(KEY, chosen)
  document.documentElement.dataset['theme'] = chosen
}
