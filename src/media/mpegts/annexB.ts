const START = Buffer.from([0, 0, 1])
/** As many as a frame may have inside Sluice. */
const MAX_NALS = 1024
const DELIMITER = 9
const FILLER = 12

/**
 * The NAL units of H.264 in byte stream format (annex B), as views, without delimiters and filler; null when there are too many.
 * Zeros after a unit belong to the format.
 */
export function splitAnnexB(data: Buffer): Buffer[] | null {
  const nals: Buffer[] = []
  let at = data.indexOf(START)
  while (at >= 0) {
    const next = data.indexOf(START, at + START.length)
    const nal = withoutZeros(data.subarray(at + START.length, next < 0 ? data.length : next))
    const type = (nal[0] ?? 0) & 31
    if (nal.length > 0 && type !== DELIMITER && type !== FILLER) nals.push(nal)
    if (nals.length > MAX_NALS) return null
    at = next
  }
  return nals
}

function withoutZeros(nal: Buffer): Buffer {
  let end = nal.length
  while (end > 0 && nal[end - 1] === 0) end -= 1
  return nal.subarray(0, end)
}
