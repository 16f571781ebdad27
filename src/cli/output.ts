import type { CommandAnswer } from './command.ts'
import type { Host, Terminal } from './host.ts'
import { csvText, isListing, listingText } from './listing.ts'
import { detailsText, jsonText, printableLines } from './print.ts'

/** How an answer is printed. */
export type OutputForm = 'text' | 'json' | 'csv'

/** What standard output gets. */
export function outputOf({ json, text }: CommandAnswer, form: OutputForm, host: Host): string {
  // `serve` has no answer: it runs until it is stopped.
  if (form === 'json') return json === null ? '' : `${jsonText(json)}\n`
  if (text === '') return ''
  const terminal = host.terminal()
  return form === 'csv' && isListing(text)
    ? csvText(text, terminal)
    : `${answerText(text, terminal, host.clock.now())}\n`
}

/**
 * The text of an answer, for people on a terminal and for programs that read it.
 * @param nowMs epoch milliseconds
 */
export function answerText(text: CommandAnswer['text'], terminal: Terminal | null, nowMs: number): string {
  if (isListing(text)) return listingText(text, terminal, nowMs)
  const isTerminal = terminal !== null
  return printableLines(typeof text === 'string' ? text : detailsText(text, isTerminal), isTerminal)
}
