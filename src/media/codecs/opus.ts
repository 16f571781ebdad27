/** Opus over RTP, RFC 7587: a payload is a bare packet of RFC 6716. */

/** Samples at 48 kHz in one frame, by configuration (RFC 6716 table 2): SILK, hybrid, CELT. */
const SILK = [480, 960, 1920, 2880]
const HYBRID = [480, 960]
const CELT = [120, 240, 480, 960]
/** 120 ms, section 3.2.5. */
const MAX_SAMPLES = 5760

/** Duration of a packet, in samples at 48 kHz; null when it is not an Opus packet. */
export function opusSamples(packet: Buffer): number | null {
  const toc = packet[0]
  if (toc === undefined) return null
  const samples = frameSamples(toc >> 3) * frameCount(packet, toc & 3)
  return samples > 0 && samples <= MAX_SAMPLES ? samples : null
}

function frameSamples(configuration: number): number {
  if (configuration < 12) return SILK[configuration & 3] ?? 0
  if (configuration < 16) return HYBRID[configuration & 1] ?? 0
  return CELT[configuration & 3] ?? 0
}

const frameCount = (packet: Buffer, code: number): number => {
  if (code === 3) return (packet[1] ?? 0) & 63
  return code === 0 ? 1 : 2
}
