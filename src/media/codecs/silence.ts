import type { AudioTrack } from '../frame.ts'
import { channelCodeOf } from './aac.ts'

/** One frame of CELT, 20 ms, with its flag of silence (RFC 6716 sections 3.1 and 4.3). */
const OPUS = Uint8Array.of(0xf8, 0xff, 0xfe)

/** 20 ms of G.711: a sample of zero has other bits inverted in each of its laws (ITU-T G.711 tables 1 and 2). */
const G711_SAMPLES = 160
const ZERO = { pcma: 0xd5, pcmu: 0xff } as const

/** A frame without any sound for this track; null: the layout of its AAC is in its frames, or it is another kind of AAC. */
export function silentFrame({ codec, config, channels }: AudioTrack): Uint8Array | null {
  switch (codec) {
    case 'opus':
      return OPUS
    case 'aac':
      return silentAac(config)
    case 'pcma':
    case 'pcmu':
      return new Uint8Array(G711_SAMPLES * channels).fill(ZERO[codec])
  }
}

/** Of a frame: one channel, two, and that of low frequencies (ISO/IEC 14496-3 table 4.85). */
const ELEMENTS = { single: '000', pair: '001', low: '011' } as const
const END = '111'

/** By the channel configuration (table 1.19). */
const LAYOUTS: readonly (readonly (keyof typeof ELEMENTS)[])[] = [
  [],
  ['single'],
  ['pair'],
  ['single', 'pair'],
  ['single', 'pair', 'single'],
  ['single', 'pair', 'pair'],
  ['single', 'pair', 'pair', 'low'],
  ['single', 'pair', 'pair', 'pair', 'low'],
]
/** Low complexity, and the same with SBR and PS, whose data a frame may lack. */
const OBJECT_TYPES = [2, 5, 29]

/** The gain, a long window without any bands, and no pulses, noise shaping or gain control (section 4.4.2.1). */
const CHANNEL = `${'0'.repeat(8)}${'0'.repeat(11)}000`

function silentAac(config: Uint8Array): Uint8Array | null {
  const objectType = (config[0] ?? 0) >> 3
  const layout = LAYOUTS[channelCodeOf(config)] ?? []
  if (layout.length === 0 || !OBJECT_TYPES.includes(objectType)) return null
  const elements = layout.map((element, at) => {
    const tag = layout.slice(0, at).filter((before) => before === element).length
    // Two channels that share nothing.
    const channels = element === 'pair' ? `0${CHANNEL}${CHANNEL}` : CHANNEL
    return `${ELEMENTS[element]}${tag.toString(2).padStart(4, '0')}${channels}`
  })
  return bytesOf([...elements, END].join(''))
}

const bytesOf = (bits: string): Uint8Array =>
  Uint8Array.from(bits.match(/.{1,8}/g) ?? [], (byte) => Number.parseInt(byte.padEnd(8, '0'), 2))
