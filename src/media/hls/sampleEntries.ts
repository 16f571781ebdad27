import type { AudioCodec, VideoCodec } from '../codecs/codecs.ts'
import type { AudioTrack, TrackInfo, VideoTrack } from '../frame.ts'
import { box, full, u16, u32, zeros } from './boxes.ts'

/** How MP4 describes the codecs that HLS can have. */

interface Mp4Codec<T extends TrackInfo> {
  /** Of the sample entry. */
  readonly type: string
  /** The box with the configuration of the decoder. */
  readonly config: (track: T) => Buffer
  /** The name of RFC 6381; null: the track is not described yet. */
  readonly name: (track: T) => string | null
}

const VIDEO: Readonly<Partial<Record<VideoCodec, Mp4Codec<VideoTrack>>>> = {
  h264: { type: 'avc1', config: ({ config }) => box('avcC', config), name: ({ config }) => avcName(config) },
  // With `hev1` the parameter sets might be in the frames, which Safari does not play.
  hevc: { type: 'hvc1', config: ({ config }) => box('hvcC', config), name: ({ config }) => hevcName(config) },
  av1: { type: 'av01', config: ({ config }) => box('av1C', config), name: ({ config }) => av1Name(config) },
  vp9: { type: 'vp09', config: ({ config }) => full('vpcC', 1, 0, config), name: ({ config }) => vp9Name(config) },
}

const AUDIO: Readonly<Partial<Record<AudioCodec, Mp4Codec<AudioTrack>>>> = {
  aac: { type: 'mp4a', config: ({ config }) => esds(config), name: ({ config }) => aacName(config) },
  opus: { type: 'Opus', config: dOps, name: () => 'opus' },
}

/** The RFC 6381 name of a track; null: MP4 cannot have it, or not yet. */
export const codecName = (track: TrackInfo): string | null =>
  (track.kind === 'video' ? VIDEO[track.codec]?.name(track) : AUDIO[track.codec]?.name(track)) ?? null

/** @throws if the track has no `codecName` */
export function sampleEntry(track: TrackInfo): Buffer {
  const entry = track.kind === 'video' ? videoEntry(track) : audioEntry(track)
  if (entry === undefined) throw new Error(`MP4 has no entry for ${track.codec}`)
  return entry
}

/** Profile, compatibility and level follow the version in an AVCDecoderConfigurationRecord. */
const avcName = (config: Uint8Array): string | null =>
  config.length >= 4 ? `avc1.${Buffer.from(config.subarray(1, 4)).toString('hex')}` : null

/** ISO/IEC 14496-15 annex E.3: profile, compatibility with its bits in reverse, tier and level, constraints. */
function hevcName(config: Uint8Array): string | null {
  if (config.length < 13) return null
  const record = Buffer.from(config)
  const profile = record.readUInt8(1)
  const space = ['', 'A', 'B', 'C'][profile >> 6] ?? ''
  const level = `${(profile & 0x20) === 0 ? 'L' : 'H'}${record.readUInt8(12)}`
  const constraints = [...record.subarray(6, 12)].map((byte) => hexOf(byte))
  while (constraints.at(-1) === '0') constraints.pop()
  const names = ['hvc1', `${space}${profile & 31}`, hexOf(reversed(record.readUInt32BE(2))), level, ...constraints]
  return names.join('.')
}

const hexOf = (value: number): string => value.toString(16).toUpperCase()

/** The 32 bits in reverse. */
const reversed = (bits: number): number =>
  Array.from({ length: 32 }, (_, at) => (bits >>> at) & 1).reduce((value, bit) => value * 2 + bit, 0)

/** AV1 in ISOBMFF section 5: profile, level and tier, bits of a sample. */
function av1Name(config: Uint8Array): string | null {
  const [, profileAndLevel, flags] = config
  if (profileAndLevel === undefined || flags === undefined) return null
  const depth = (flags & 0x40) === 0 ? 8 : (flags & 0x20) === 0 ? 10 : 12
  return `av01.${profileAndLevel >> 5}.${digits(profileAndLevel & 31)}${flags < 0x80 ? 'M' : 'H'}.${digits(depth)}`
}

const digits = (value: number): string => String(value).padStart(2, '0')

/**
 * VP Codec ISO Media File Format Binding, section "Codecs Parameter String": profile, level, bits of a sample. What comes after is
 * left out where it is the usual, as in 4:2:0.
 */
function vp9Name(config: Uint8Array): string | null {
  const [profile, level, flags = 0, ...colors] = config
  if (profile === undefined || level === undefined) return null
  const chroma = (flags >> 1) & 7
  const rest = profile % 2 === 0 ? [] : [chroma, ...colors.slice(0, 3), flags & 1]
  return ['vp09', ...[profile, level, flags >> 4, ...rest].map(digits)].join('.')
}

/** The first five bits are the audio object type (ISO/IEC 14496-3 section 1.6.2.1). */
const aacName = ([first]: Uint8Array): string | null => (first === undefined ? null : `mp4a.40.${first >> 3}`)

/** The beginning of a sample entry: the data are in this file. */
const ENTRY = Buffer.concat([zeros(6), u16(1)])

/** A visual sample entry (section 12.1.3) with the decoder's configuration: 72 dpi, 24 bits of colour. */
function videoEntry(track: VideoTrack): Buffer | undefined {
  const { width, height } = track
  const codec = VIDEO[track.codec]
  return (
    codec &&
    box(
      codec.type,
      Buffer.concat([ENTRY, zeros(16), u16(width), u16(height), u32(0x480000), u32(0x480000), u32(0), u16(1)]),
      Buffer.concat([zeros(32), u16(24), u16(0xffff)]),
      codec.config(track),
    )
  )
}

/** An audio sample entry (section 12.2.3): 16 bits, with the rate as far as its field can hold it. */
function audioEntry(track: AudioTrack): Buffer | undefined {
  const { sampleRate, channels } = track
  const codec = AUDIO[track.codec]
  return (
    codec &&
    box(
      codec.type,
      Buffer.concat([ENTRY, zeros(8), u16(channels), u16(16), zeros(4)]),
      u32(sampleRate < 0x10000 ? sampleRate * 0x10000 : 0),
      codec.config(track),
    )
  )
}

/** Opus in ISOBMFF section 4.3.2: no pre-skip, no gain, mono or stereo. */
function dOps({ channels, sampleRate }: AudioTrack): Buffer {
  return box('dOps', Buffer.from([0, channels]), u16(0), u32(sampleRate), u16(0), Buffer.from([0]))
}

/** MPEG-4 AAC with its AudioSpecificConfig (ISO/IEC 14496-1 section 7.2.6). */
function esds(config: Uint8Array): Buffer {
  const decoder = [Buffer.from([0x40, 0x15]), zeros(3), zeros(8), descriptor(5, config)]
  return full('esds', 0, 0, descriptor(3, u16(0), zeros(1), descriptor(4, ...decoder), descriptor(6, Buffer.from([2]))))
}

/** The length has four bytes of seven bits each. */
function descriptor(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content)
  const length = [21, 14, 7, 0].map((shift) => ((body.length >> shift) & 0x7f) | (shift > 0 ? 0x80 : 0))
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
