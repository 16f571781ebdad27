import { ok, type Result } from '../../base/result.ts'
import { coded } from '../../core/notices.ts'
import { readAacConfig } from '../codecs/aac.ts'
import { isAv1Config } from '../codecs/av1.ts'
import type { VideoCodec } from '../codecs/codecs.ts'
import { readAvcConfig, readSps } from '../codecs/h264Config.ts'
import { readHevcConfig } from '../codecs/hevc.ts'
import { rtpAudioTrack } from '../frame.ts'
import { damaged, type FlvPayload, type FlvProblem, unsupported } from './flvPayload.ts'

/** Reads the AVCDecoderConfigurationRecord; the size comes from its first sequence parameter set. */
export function parseAvcConfig(written: Buffer): Result<FlvPayload, FlvProblem> {
  const config = withLongLengths(written)
  const [sps] = readAvcConfig(config)?.sps ?? []
  const size = sps === undefined ? null : readSps(sps)
  if (size === null) return damaged('The H.264 configuration cannot be read')
  const lengthBytes = ((written[4] ?? 0) & 3) + 1
  return ok({ kind: 'track', track: { kind: 'video', codec: 'h264', ...size, config }, lengthBytes })
}

/** Makes the record say 4-byte lengths, which Sluice gives every frame. */
function withLongLengths(config: Buffer): Buffer {
  const record = Buffer.from(config)
  if (record.length > 4) record[4] = (record[4] ?? 0) | 3
  return record
}

export function parseAacConfig(config: Buffer): Result<FlvPayload, FlvProblem> {
  const format = readAacConfig(config)
  if (format === null) return damaged('The AAC configuration cannot be read')
  return ok({ kind: 'track', track: { kind: 'audio', codec: 'aac', ...format, config: Uint8Array.from(config) } })
}

/** Reads the HEVCDecoderConfigurationRecord (ISO/IEC 14496-15 section 8.3.3.1). */
export function parseHevcConfig(record: Buffer): Result<FlvPayload, FlvProblem> {
  const read = readHevcConfig(record)
  if (read === null) return damaged('The HEVC configuration cannot be read')
  const { width, height, config, lengthBytes } = read
  return ok({ kind: 'track', track: { kind: 'video', codec: 'hevc', width, height, config }, lengthBytes })
}

/** Keyframes have the sequence header, which may differ from that in the record, and come with each new one. */
export const parseAv1Config = (record: Buffer): Result<FlvPayload, FlvProblem> =>
  isAv1Config(record) ? ok(describedByFrames('av1')) : damaged('The AV1 configuration cannot be read')

/** VP8 and VP9: their configuration says neither the size nor anything that a decoder needs. */
export const parseVpConfig = (codec: 'vp8' | 'vp9'): Result<FlvPayload, FlvProblem> => ok(describedByFrames(codec))

const describedByFrames = (codec: VideoCodec): FlvPayload => ({
  kind: 'track',
  track: { kind: 'video', codec, width: 0, height: 0, config: new Uint8Array() },
  lengthBytes: null,
})

const OPUS: FlvPayload = { kind: 'track', track: rtpAudioTrack('opus', 48_000) }
const OPUS_HEAD = 'OpusHead'

/** Reads the identification header (RFC 7845 section 5.1). WebRTC carries no more than two channels. */
export function parseOpusConfig(header: Buffer): Result<FlvPayload, FlvProblem> {
  const channels =
    header.toString('latin1', 0, OPUS_HEAD.length) === OPUS_HEAD ? (header[OPUS_HEAD.length + 1] ?? 2) : 2
  return channels > 2 ? unsupported(coded('opus_channels', { channels })) : ok(OPUS)
}
