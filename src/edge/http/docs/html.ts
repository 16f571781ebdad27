/** HTML that is safe to insert. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | null | readonly Html[]

/** A template of HTML: every value is escaped that is not HTML itself. Null: nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Part[]): Html {
  return new Html(parts.reduce((text, part, at) => text + textOf(values[at - 1] ?? null) + part))
}

function textOf(part: Part): string {
  if (part === null) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(({ text }) => text).join('')
  return escaped(String(part))
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** A description of a schema: text in which names stand in backticks. */
export const described = (text: string): Html =>
  new Html(escaped(text).replaceAll(/`([^`]+)`/g, (_all, name: string) => `<code>${name}</code>`))
