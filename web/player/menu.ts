import { html } from './dom.ts'

/** One group of choices of the settings. */
export interface Choices {
  readonly name: string
  readonly title: string
  readonly options: readonly { readonly value: string; readonly label: string }[]
  readonly chosen: string
}

/** Replaces the choices in the settings. A group with fewer than two options is left out. */
export function showChoices(
  panel: HTMLElement,
  groups: readonly Choices[],
  choose: (name: string, value: string) => void,
): void {
  const shown = groups.filter(({ options }) => options.length > 1)
  panel.replaceChildren(...shown.map((group) => fieldset(group, choose)))
}

function fieldset({ name, title, options, chosen }: Choices, choose: (name: string, value: string) => void) {
  const labels = options.map(({ value, label }) => {
    const input = html('input', { type: 'radio', name, value, checked: value === chosen })
    input.addEventListener('change', () => choose(name, value))
    return html('label', {}, input, label)
  })
  return html('fieldset', {}, html('legend', {}, title), ...labels)
}
