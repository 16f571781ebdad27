import { html } from './dom.ts'

/** One group of choices of the settings. */
export interface Choices {
  readonly name: string
  readonly title: string
  readonly options: readonly { readonly value: string; readonly label: string }[]
  readonly chosen: string
  /** Shown even if there is one option only. */
  readonly isFixed?: boolean
}

/** What the menu leads to. */
export interface MenuEntry {
  readonly label: string
  readonly open: () => void
}

interface Menu {
  readonly groups: readonly Choices[]
  readonly entries: readonly MenuEntry[]
  readonly choose: (name: string, value: string) => void
}

/** Replaces the content of the settings. A group with fewer than two options is left out. The focus stays where it is. */
export function showMenu(panel: HTMLElement, { groups, entries, choose }: Menu): void {
  const shown = groups.filter(({ options, isFixed }) => options.length > 1 || (isFixed && options.length > 0))
  const focused = panel.querySelector<HTMLInputElement | HTMLButtonElement>(':focus')
  const buttons = entries.map(({ label, open }) => {
    const button = html('button', { type: 'button', value: label }, label)
    button.addEventListener('click', open)
    return button
  })
  panel.replaceChildren(...shown.map((group) => fieldset(group, choose)), html('div', { class: 'entries' }, ...buttons))
  if (focused === null) return
  const all = [...panel.querySelectorAll<HTMLInputElement | HTMLButtonElement>('input, button')]
  all.find(({ name, value }) => name === focused.name && value === focused.value)?.focus()
}

function fieldset({ name, title, options, chosen }: Choices, choose: (name: string, value: string) => void) {
  const labels = options.map(({ value, label }) => {
    const input = html('input', { type: 'radio', name, value, checked: value === chosen })
    input.addEventListener('change', () => choose(name, value))
    return html('label', {}, input, label)
  })
  return html('fieldset', {}, html('legend', {}, title), ...labels)
}
