import { err, ok, type Result } from '../../base/result.ts'

/** Parses a moment exactly as JSON writes it. */
export function moment(text: string): Result<number, string> {
  const ms = /^.{10}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/.test(text) ? timeOf(text) : null
  return ms === null ? err('must be a moment as YYYY-MM-DDTHH:mm:ss.sssZ') : ok(ms)
}

const INSTANT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/

/** Parses a moment in any common form of ISO 8601. A bare day means its start, UTC. */
export function instant(text: string): Result<number, string> {
  const ms = INSTANT.test(text) ? timeOf(text) : null
  return ms === null ? err('must be a time in ISO 8601 with a zone, such as 2026-01-31T09:00:00Z, or a day') : ok(ms)
}

const DATE_TIME = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** RFC 3339 date-time, from 1970 on, to epoch milliseconds; null for other text. */
export function parseDateTime(text: string): number | null {
  const ms = DATE_TIME.test(text) ? timeOf(text) : null
  return ms !== null && ms >= 0 ? ms : null
}

/** Null: there is no such time. The engine would read 30 February as 2 March. @param text begins with its day */
export function timeOf(text: string): number | null {
  const day = text.slice(0, 10)
  const [dayMs, ms] = [Date.parse(day), Date.parse(text)]
  if (Number.isNaN(dayMs) || Number.isNaN(ms)) return null
  return new Date(dayMs).toISOString().startsWith(day) ? ms : null
}
