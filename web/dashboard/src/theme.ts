import { computed, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'sluice-theme'

const read = (): Theme => {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

/** The chosen theme. */
export const theme = signal<Theme>(read())

const system = matchMedia('(prefers-color-scheme: dark)')
const isSystemDark = signal(system.matches)
system.addEventListener('change', ({ matches }) => {
  isSystemDark.value = matches
})

/** What is shown now. Plots read it to draw themselves again, also when the system changes. */
export const look = computed<'light' | 'dark'>(() =>
  theme.value === 'system' ? (isSystemDark.value ? 'dark' : 'light') : theme.value,
)

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
