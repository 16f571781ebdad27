import { BitReader } from '../codecs/bits.ts'
import type { AudioCodec } from '../codecs/codecs.ts'

/**
 * Whether a packet of audio has no sound at all, as its first bytes tell. Null: the codec, or the packet, does not tell. The
 * noise of a quiet room is sound: what is found is a source that is muted, or a device that is missing.
 */
export function isSilent(codec: AudioCodec, packet: Uint8Array): boolean | null {
  switch (codec) {
    case 'aac':
      return isSilentAac(packet)
    case 'opus':
      return isSilentOpus(packet)
    case 'pcma':
      return packet.every((byte) => byte === 0xd5 || byte === 0x55)
    case 'pcmu':
      return packet.every((byte) => byte === 0xff || byte === 0x7f)
  }
}

/** RFC 6716 table 2: from here on packets are CELT alone. */
const CELT_FIRST = 16
/** The shortest packet of sound has more; encoders send so few bytes for silence, and none for it with DTX. */
const OPUS_SILENT_BYTES = 3

/** CELT begins with its silence flag (section 4.3), whose probability of 2^-15 makes the first two bytes all ones. */
function isSilentOpus(packet: Uint8Array): boolean {
  if (packet.length <= OPUS_SILENT_BYTES) return true
  const [toc = 0, first = 0, second = 0] = packet
  return toc >> 3 >= CELT_FIRST && (toc & 3) === 0 && first === 0xff && second >= 0xfe
}

const SINGLE_CHANNEL = 0
const CHANNEL_PAIR = 1
const FILL = 6
const EIGHT_SHORT = 2
const ZERO_CODEBOOK = 0

/** ISO/IEC 14496-3 section 4.4.2: no channel of the first element has a band with a spectrum. */
function isSilentAac(packet: Uint8Array): boolean | null {
  const bits = new BitReader(packet.subarray(0, 64))
  const element = firstElement(bits)
  bits.skip(4)
  if (element === SINGLE_CHANNEL) return channelIsEmpty(bits, null)
  if (element !== CHANNEL_PAIR) return null
  const shared = bits.flag() ? readInfo(bits) : null
  // Which bands have both channels in one (ms_used).
  if (shared !== null && bits.bits(2) === 1) bits.skip(shared.groups * shared.bands)
  const first = channelIsEmpty(bits, shared)
  return first === true ? channelIsEmpty(bits, shared) : first
}

/** The first element that is no filling (table 4.11), which encoders write their names into. */
function firstElement(bits: BitReader): number {
  let element = bits.bits(3)
  while (element === FILL && !bits.isOver) {
    const bytes = bits.bits(4)
    bits.skip(8 * (bytes < 15 ? bytes : 14 + bits.bits(8)))
    element = bits.bits(3)
  }
  return element
}

interface WindowInfo {
  readonly isShort: boolean
  readonly groups: number
  readonly bands: number
}

/** ics_info (table 4.6), without prediction: AAC-LC has none. */
function readInfo(bits: BitReader): WindowInfo {
  bits.skip(1)
  const isShort = bits.bits(2) === EIGHT_SHORT
  bits.skip(1)
  if (!isShort) {
    const bands = bits.bits(6)
    bits.skip(1)
    return { isShort, groups: 1, bands }
  }
  const bands = bits.bits(4)
  const joined = bits.bits(7)
  return { isShort, groups: 8 - onesOf(joined), bands }
}

function onesOf(bits: number): number {
  let ones = 0
  for (let rest = bits; rest > 0; rest >>= 1) ones += rest & 1
  return ones
}

/** individual_channel_stream (table 4.50). Where it is empty, what follows its sections are three flags. */
function channelIsEmpty(bits: BitReader, shared: WindowInfo | null): boolean | null {
  bits.skip(8)
  const info = shared ?? readInfo(bits)
  for (let group = 0; group < info.groups; group++) if (!groupIsEmpty(bits, info)) return bits.isOver ? null : false
  // Pulses, noise shaping or gain control of nothing: an encoder that writes them is not read further.
  const hasTools = bits.bits(3) !== 0
  return bits.isOver || hasTools ? null : true
}

function groupIsEmpty(bits: BitReader, { isShort, bands }: WindowInfo): boolean {
  const [size, more] = isShort ? [3, 7] : [5, 31]
  for (let band = 0; band < bands; ) {
    if (bits.bits(4) !== ZERO_CODEBOOK || bits.isOver) return false
    let step = bits.bits(size)
    band += step
    while (step === more && !bits.isOver) {
      step = bits.bits(size)
      band += step
    }
  }
  return true
}
