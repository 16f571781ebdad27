import { readFileSync } from 'node:fs'
import { parseRtp, payloadOf, unwrapSequence } from '../../../../../src/media/relay/wire/rtp.ts'
import type { VideoPacket } from '../../../../../src/media/codecs/assembler.ts'

const load = (name: string): Buffer => readFileSync(new URL(name, import.meta.url))

/** The packets of a capture: RTP as a publisher sent it, each after its length in two bytes (RFC 4571). */
export function packetsOf(name: string): VideoPacket[] {
  const bytes = load(`${name}.rtp`)
  const packets: VideoPacket[] = []
  for (let at = 0; at < bytes.length; at += 2 + bytes.readUInt16BE(at)) {
    const packet = bytes.subarray(at + 2, at + 2 + bytes.readUInt16BE(at))
    const header = parseRtp(packet)
    if (header === null) throw new Error('the capture is broken')
    const index = unwrapSequence(packets.at(-1)?.index ?? 65_536 + header.sequence, header.sequence)
    packets.push({ index, timestamp: header.timestamp, marker: header.marker, payload: payloadOf(packet, header) })
  }
  return packets
}

/** The frames of an IVF file. */
export function ivfFrames(name: string): Buffer[] {
  const bytes = load(`${name}.ivf`)
  const frames: Buffer[] = []
  for (let at = bytes.readUInt16LE(6); at < bytes.length; at += 12 + bytes.readUInt32LE(at)) {
    frames.push(bytes.subarray(at + 12, at + 12 + bytes.readUInt32LE(at)))
  }
  return frames
}

/** The NAL units of an Annex B file, in order. */
export function annexBUnits(name: string): Buffer[] {
  const bytes = load(name)
  const starts: number[] = []
  for (let at = bytes.indexOf('000001', 0, 'hex'); at >= 0; at = bytes.indexOf('000001', at + 3, 'hex'))
    starts.push(at + 3)
  return starts.map((start, index) => {
    const next = starts[index + 1]
    const end = next === undefined ? bytes.length : next - 3
    return bytes.subarray(start, bytes[end - 1] === 0 ? end - 1 : end)
  })
}
