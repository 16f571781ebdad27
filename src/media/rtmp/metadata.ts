import { Allowance } from '../../base/allowance.ts'
import { decodeAmf } from './amf0.ts'
import { MESSAGE, type Message } from './messages.ts'

/** What a publisher says that its tracks keep to, bits per second. Absent: it does not say, or what it says is no bitrate. */
export interface DeclaredBitrates {
  readonly video?: number
  readonly audio?: number
}

/** Metadata has some hundred bytes. */
const MAX_BYTES = 16_384
const EVENT = 'onMetaData'
/** A message begins with its names. */
const NAMES_BYTES = 64
/** Publishers send it at their start, and when their settings change. */
const ALLOWED = { burst: 16, perSecond: 1 }
/** A larger number is a mistake. */
const MAX_KBITS = 200_000

/**
 * The bitrates in `onMetaData` (Adobe Flash Video File Format 10.1, annex E.5), which publishers send in `@setDataFrame`.
 * Nothing depends on the rest of it, so that metadata that cannot be read does no harm.
 */
export function readBitrates({ type, payload }: Message): DeclaredBitrates {
  if (payload.length > MAX_BYTES) return {}
  // AMF3 clients put a zero byte in front, as with commands.
  const values = decodeAmf(type === MESSAGE.dataAmf3 && payload[0] === 0 ? payload.subarray(1) : payload)
  if (!values.ok) return {}
  const [name, ...others] = values.value
  const [event, properties] = name === '@setDataFrame' ? others : [name, others[0]]
  if (event !== EVENT || !(properties instanceof Map)) return {}
  const video = bitsOf(properties.get('videodatarate'))
  const audio = bitsOf(properties.get('audiodatarate'))
  return { ...(video === null ? {} : { video }), ...(audio === null ? {} : { audio }) }
}

/** Reads the metadata of one connection, no more often than publishers send it: to read one costs as much as a hundred frames. */
export class MetadataReader {
  readonly #allowance = new Allowance(ALLOWED)

  /** Null: it is another message, of which some publishers send one with each frame, or one too many. */
  read(message: Message, nowMs: number): DeclaredBitrates | null {
    const isMetadata = message.payload.subarray(0, NAMES_BYTES).includes(EVENT)
    return isMetadata && this.#allowance.take(nowMs) ? readBitrates(message) : null
  }
}

/** @param kbits thousands of bits per second */
const bitsOf = (kbits: unknown): number | null =>
  typeof kbits === 'number' && kbits > 0 && kbits <= MAX_KBITS ? Math.ceil(kbits * 1000) : null
