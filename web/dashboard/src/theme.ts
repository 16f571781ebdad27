import { signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'sluice-theme'

const read = (): Theme => {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

/** The chosen theme. Plots read it to draw themselves again. */
export const theme = signal<Theme>(read())

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
