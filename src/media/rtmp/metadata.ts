import { decodeAmf } from './amf0.ts'
import { MESSAGE, type Message } from './messages.ts'

/** What a publisher says that its tracks keep to, bits per second. Absent: it does not say, or what it says is no bitrate. */
export interface DeclaredBitrates {
  readonly video?: number
  readonly audio?: number
}

/** Metadata has some hundred bytes. */
const MAX_BYTES = 16_384
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
  if (event !== 'onMetaData' || !(properties instanceof Map)) return {}
  const video = bitsOf(properties.get('videodatarate'))
  const audio = bitsOf(properties.get('audiodatarate'))
  return { ...(video === null ? {} : { video }), ...(audio === null ? {} : { audio }) }
}

/** @param kbits thousands of bits per second */
const bitsOf = (kbits: unknown): number | null =>
  typeof kbits === 'number' && kbits > 0 && kbits <= MAX_KBITS ? Math.ceil(kbits * 1000) : null
