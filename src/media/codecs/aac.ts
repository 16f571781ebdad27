import type { TrackInfo } from '../frame.ts'
import { BitReader } from './bits.ts'

/** By the index of the sampling rate (ISO/IEC 14496-3 table 1.18). */
const RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350]
const EXPLICIT_RATE = 15
/** One that is written out may be between those. Of any other the frames would last microseconds or minutes. */
const [RATE_MAX = 0] = RATES
const RATE_MIN = RATES.at(-1) ?? 0

export interface AacFormat {
  /** Hertz. */
  readonly sampleRate: number
  readonly channels: number
}

/** Reads rate and channels of an AudioSpecificConfig (ISO/IEC 14496-3 section 1.6.2.1); null: it is malformed. */
export function readAacConfig(config: Buffer): AacFormat | null {
  if (config.length < 2) return null
  const word = config.readUInt16BE(0)
  const rateIndex = (word >> 7) & 0x0f
  const isExplicit = rateIndex === EXPLICIT_RATE && config.length >= 5
  const sampleRate = isExplicit ? (config.readUIntBE(0, 5) / 2 ** 7) & 0xff_ffff : RATES[rateIndex]
  const channelCode = channelCodeOf(config)
  // 7 means 7.1. 0 means that the stream itself has the layout; two channels are then the likely number.
  const channels = channelCode === 7 ? 8 : channelCode === 0 ? 2 : channelCode
  if (sampleRate === undefined || sampleRate < RATE_MIN || sampleRate > RATE_MAX) return null
  return channels > 8 ? null : { sampleRate, channels }
}

/** The channel configuration of an AudioSpecificConfig (table 1.19). */
export function channelCodeOf(config: Uint8Array): number {
  const bits = new BitReader(config)
  bits.skip(5)
  if (bits.bits(4) === EXPLICIT_RATE) bits.skip(24)
  return bits.bits(4)
}

/**
 * Whether the channels of AAC have a layout of their own, in a program config element: so has what ffmpeg makes of the 5.1 of AC-3.
 * Browsers do not read it, and ADTS has it in its first frame alone.
 */
export const hasOwnLayout = ({ codec, config }: TrackInfo): boolean => codec === 'aac' && channelCodeOf(config) === 0

const LAYOUT_ELEMENT = 5
/**
 * The program config element that a frame begins with, as it ends an AudioSpecificConfig, without its comment (ISO/IEC 14496-3
 * table 4.2). Null: the frame begins with something else.
 */
export function layoutIn(frame: Uint8Array): Buffer | null {
  const bits = new BitReader(frame)
  let copy = ''
  const take = (count: number): number => {
    const value = bits.bits(count)
    copy += value.toString(2).padStart(count, '0')
    return value
  }
  if (bits.bits(3) !== LAYOUT_ELEMENT) return null
  // Its number, the object type and the rate.
  take(10)
  const [frontSideBack, lowAssociated, coupling] = [take(4) + take(4) + take(4), take(2) + take(3), take(4)]
  for (const mixdownBits of [4, 4, 3]) if (take(1) === 1) take(mixdownBits)
  for (let left = frontSideBack; left > 0; left--) take(5)
  for (let left = lowAssociated; left > 0; left--) take(4)
  for (let left = coupling; left > 0; left--) take(5)
  if (bits.isOver) return null
  const whole = copy.padEnd(Math.ceil(copy.length / 8) * 8, '0')
  const noComment = 0
  return Buffer.from([...(whole.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)), noComment])
}
