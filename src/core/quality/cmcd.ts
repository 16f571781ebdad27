/** What is read of CTA-5004 in a request, of the many keys that a player may send. */
export interface Cmcd {
  /** `bs`: the buffer ran empty since the request before. */
  readonly isStarved: boolean
  /** `su`: the player has no picture yet, or waits for one after it ran empty. */
  readonly isUrgent: boolean
  /** `bl`, milliseconds; null: not said. */
  readonly bufferMs: number | null
  /** `mtp`, kilobits per second; null: not said. */
  readonly kbps: number | null
}

/** Far more than the standard's keys take. A longer text is not read. */
export const CMCD_MAX = 1_024
const BUFFER_MAX_MS = 600_000
const KBPS_MAX = 10_000_000

/** A key with its value, if it has one: a text in quotes, or a number or word. CTA-5004 section 3.2. */
const PAIR = /\s*([\w.-]{1,64})(?:=("(?:[^"\\]|\\.)*"|[^",]*))?\s*(?:,|$)/y

/**
 * Reads a list of CMCD keys, decoded, as a header or the parameter of a query has it. Null: it is none, or too long. Keys that
 * are not needed are passed over, and so are values that make no sense.
 */
export function readCmcd(text: string): Cmcd | null {
  if (text.length === 0 || text.length > CMCD_MAX) return null
  let [isStarved, isUrgent] = [false, false]
  let [bufferMs, kbps]: (number | null)[] = [null, null]
  for (let at = 0; at < text.length; at = PAIR.lastIndex) {
    PAIR.lastIndex = at
    const [, key, value] = PAIR.exec(text) ?? []
    if (key === undefined) return null
    if (key === 'bs') isStarved = value === undefined || value === 'true'
    if (key === 'su') isUrgent = value === undefined || value === 'true'
    if (key === 'bl') bufferMs = numberOf(value, BUFFER_MAX_MS)
    if (key === 'mtp') kbps = numberOf(value, KBPS_MAX)
  }
  return { isStarved, isUrgent, bufferMs: bufferMs ?? null, kbps: kbps ?? null }
}

const numberOf = (value: string | undefined, most: number): number | null =>
  value !== undefined && /^\d{1,12}$/.test(value) ? Math.min(Number(value), most) : null

/** The CMCD of a request's address, decoded; null: there is none. */
export function cmcdOfUrl(url: string): string | null {
  const from = url.indexOf('CMCD=')
  if (from < 1 || !'?&'.includes(url.charAt(from - 1))) return null
  const end = url.indexOf('&', from)
  const encoded = url.slice(from + 5, end < 0 ? undefined : end)
  if (encoded.length > 3 * CMCD_MAX) return null
  try {
    return decodeURIComponent(encoded)
  } catch {
    return null
  }
}
