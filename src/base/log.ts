import { type DestinationStream, pino } from 'pino'
import { LineWriter } from './lineWriter.ts'
import { visibleJson } from './quote.ts'
import { clean } from './redact.ts'

/** Fields beside a message: ids, counts, a thrown value as `err`. Secrets are removed by name and by shape (see redact.ts). */
export type Fields = Readonly<Record<string, unknown>>

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** One line per event. The request id travels as a field: `log.child({ requestId })`. */
export interface Logger {
  debug(fields: Fields, message: string): void
  info(fields: Fields, message: string): void
  warn(fields: Fields, message: string): void
  error(fields: Fields, message: string): void
  /** A logger that adds `fields` to every line. */
  child(fields: Fields): Logger
}

/** The logger of a process. */
export interface RootLogger extends Logger {
  /** Changes the lowest level that this logger and its children write. */
  setLevel(level: LogLevel): void
}

export interface LoggerOptions {
  level: LogLevel
  format: 'json' | 'pretty'
  /** Where lines are written; standard output when omitted. */
  destination?: DestinationStream
}

/** Bytes that may wait when the reader of standard output is slow. Beyond that lines are dropped. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024

/** Creates the logger of a process. Writing never blocks and never throws. */
export function createLogger({ level, format, destination: given }: LoggerOptions): RootLogger {
  const laidOut = format === 'pretty' ? prettyLine : visibleJson
  const out = given ?? standardOutput(laidOut)
  const lines = { write: (line: string) => out.write(laidOut(line)) }
  const options = {
    level,
    base: null,
    messageKey: 'message',
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: errorLine },
  }
  const target = pino(options, lines)
  const setLevel = (next: LogLevel): void => {
    target.level = next
  }
  return { ...wrap(target, {}), setLevel }
}

/** pino joins an error with its causes, but takes its type from the constructor, and `clean` has made a plain object of it. */
function errorLine(cleaned: unknown): unknown {
  if (typeof cleaned !== 'object' || cleaned === null || !('type' in cleaned)) return cleaned
  return { ...pino.stdSerializers.err(cleaned as unknown as Error), type: cleaned.type }
}

function standardOutput(laidOut: (line: string) => string): DestinationStream {
  const writer = new LineWriter(1, { maxBytes: MAX_WAITING_BYTES, droppedLine: (lines) => laidOut(droppedLine(lines)) })
  process.once('exit', () => writer.flush())
  return writer
}

const droppedLine = (lines: number): string =>
  `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), lines, message: 'log lines were dropped' })}\n`

/** We keep the fields of a child here and not in pino, so that a field of a line replaces the field of its parent. */
function wrap(target: pino.Logger, bound: Fields): Logger {
  const write = (level: LogLevel, fields: Fields, message: string) => {
    if (target.isLevelEnabled(level)) target[level](clean({ ...bound, ...fields }), clean(message))
  }
  return {
    debug: (fields, message) => write('debug', fields, message),
    info: (fields, message) => write('info', fields, message),
    warn: (fields, message) => write('warn', fields, message),
    error: (fields, message) => write('error', fields, message),
    child: (fields) => wrap(target, { ...bound, ...fields }),
  }
}

/** `12:00:00.000 WARN  message  requestId=… err={…}` out of one JSON line. */
function prettyLine(line: string): string {
  const { level, time, message, ...fields } = JSON.parse(line) as Record<string, unknown>
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${plain(value)}`)
  const head = `${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(5)} ${plain(message)}`
  return `${[head, ...rest].join('  ')}\n`
}

/** Unambiguous text as it is, everything else as JSON, so that a line stays one line and no client controls a terminal. */
function plain(value: unknown): string {
  const json = visibleJson(JSON.stringify(value))
  return typeof value === 'string' && json === `"${value}"` && !value.includes('=') ? value : json
}
