import { isoTime } from '../base/time.ts'
import type { CommandAnswer } from './command.ts'
import type { Host, Terminal } from './host.ts'
import { isListing, type Listing } from './listing.ts'
import { answerText, outputOf, type OutputForm } from './output.ts'
import { jsonLine, printable, printableLines } from './print.ts'
import type { WatchDisplay } from './watch.ts'
import { cut } from './width.ts'

/** A terminal shows the latest answer alone. Everything else gets one answer after another. */
export function displayOf(host: Host, form: OutputForm): WatchDisplay {
  const terminal = host.terminal()
  return form === 'text' && terminal !== null ? new Screen(host, terminal) : new Lines(host, form)
}

/** As JSON one line for each answer; as comma-separated values one table with the time of each answer. */
class Lines implements WatchDisplay {
  readonly #host: Host
  readonly #form: OutputForm
  #isFirst = true
  #isFailing = false

  constructor(host: Host, form: OutputForm) {
    this.#host = host
    this.#form = form
  }

  show(answer: CommandAnswer): void {
    if (this.#isFailing) this.#note('works again')
    this.#isFailing = false
    this.#host.stdout(this.#textOf(answer))
    this.#isFirst = false
  }

  failed(reason: string): void {
    if (!this.#isFailing) this.#note(`${reason}; trying again`)
    this.#isFailing = true
  }

  #textOf(answer: CommandAnswer): string {
    const { json, text } = answer
    if (this.#form === 'json') return jsonLine(json)
    if (this.#form === 'text' || !isListing(text))
      return `${this.#isFirst ? '' : '\n'}${outputOf(answer, 'text', this.#host)}`
    const csv = outputOf({ ...answer, text: withTime(text, isoTime(this.#host.clock.now())) }, 'csv', this.#host)
    return this.#isFirst ? csv : csv.slice(csv.indexOf('\n') + 1)
  }

  #note(text: string): void {
    if (this.#form !== 'json') this.#host.stderr(`sluice: ${printableLines(text, this.#host.stderrIsTerminal)}\n`)
  }
}

/** An empty list has a row with the time alone. Each answer has to be written, because only a write finds a closed pipe. */
const withTime = ({ headings, kinds, rows, ...rest }: Listing, time: string): Listing => ({
  ...rest,
  headings: ['time', ...headings],
  kinds: ['text', ...kinds],
  rows: rows.length === 0 ? [[time, ...headings.map(() => null)]] : rows.map((row) => [time, ...row]),
})

/** Control sequences of ECMA-48. */
const CLEAR = '\u001b[2J'
const HOME = '\u001b[H'
const CLEAR_LINE = '\u001b[K'
const CLEAR_BELOW = '\u001b[J'

/** Draws over what it has drawn, with a line above that says of when it is. */
class Screen implements WatchDisplay {
  readonly #host: Host
  #terminal: Terminal
  #answer: CommandAnswer | null = null
  #answeredMs = 0
  #isFirst = true

  constructor(host: Host, terminal: Terminal) {
    this.#host = host
    this.#terminal = terminal
  }

  show(answer: CommandAnswer): void {
    this.#answer = answer
    this.#answeredMs = this.#host.clock.now()
    this.#draw('every 2 s, Ctrl+C ends it')
  }

  failed(reason: string): void {
    this.#draw(`${printable(reason)}; trying again, Ctrl+C ends it`)
  }

  #draw(state: string): void {
    // It may have been closed meanwhile.
    this.#terminal = this.#host.terminal() ?? this.#terminal
    const { columns, rows } = this.#terminal
    const at = `${isoTime(this.#answeredMs).slice(0, 19).replace('T', ' ')} UTC`
    const lines = [`${at}  ${state}`, '', ...this.#text().split('\n')]
    // The cursor needs the last line of the terminal.
    const more = lines.length - (rows - 1)
    const fitting = more > 0 ? [...lines.slice(0, Math.max(0, rows - 2)), `… ${more + 1} more`] : lines
    const drawn = fitting.map((line) => `${cut(line, columns)}${CLEAR_LINE}\n`).join('')
    this.#host.stdout(`${this.#isFirst ? CLEAR : ''}${HOME}${drawn}${CLEAR_BELOW}`)
    this.#isFirst = false
  }

  #text(): string {
    return answerText(this.#answer?.text ?? '', this.#terminal, this.#host.clock.now())
  }
}
