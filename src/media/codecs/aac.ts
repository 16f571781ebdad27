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
  const channelCode = isExplicit ? ((config[4] ?? 0) >> 3) & 0x0f : (word >> 3) & 0x0f
  // 7 means 7.1. 0 means that the stream itself has the layout; two channels are then the likely number.
  const channels = channelCode === 7 ? 8 : channelCode === 0 ? 2 : channelCode
  if (sampleRate === undefined || sampleRate < RATE_MIN || sampleRate > RATE_MAX) return null
  return channels > 8 ? null : { sampleRate, channels }
}
