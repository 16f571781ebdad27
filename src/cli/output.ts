import type { CommandAnswer } from './command.ts'
import type { Host } from './host.ts'
import { csvText, listingText } from './listing.ts'
import { jsonText, printableLines } from './print.ts'

/** How an answer is printed. */
export type OutputForm = 'text' | 'json' | 'csv'

/** What standard output gets. */
export function outputOf({ json, text }: CommandAnswer, form: OutputForm, host: Host): string {
  // `serve` has no answer: it runs until it is stopped.
  if (form === 'json') return json === null ? '' : `${jsonText(json)}\n`
  if (text === '') return ''
  const terminal = host.terminal()
  if (typeof text === 'string') return `${printableLines(text, terminal !== null)}\n`
  return form === 'csv' ? csvText(text, terminal) : `${listingText(text, terminal, host.clock.now())}\n`
}
