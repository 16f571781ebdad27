import { MAX_NALS } from '../codecs/nalUnits.ts'

const START = Buffer.from([0, 0, 1])

/**
 * The NAL units of a byte stream (annex B of H.264 and of H.265), as views, without those that `isLeftOut`; null when there are
 * too many. Zeros after a unit belong to the format.
 */
export function splitAnnexB(data: Buffer, isLeftOut: (nal: Buffer) => boolean): Buffer[] | null {
  const nals: Buffer[] = []
  let [at, count] = [data.indexOf(START), 0]
  while (at >= 0) {
    if (count++ === MAX_NALS) return null
    const next = data.indexOf(START, at + START.length)
    const nal = withoutZeros(data.subarray(at + START.length, next < 0 ? data.length : next))
    if (nal.length > 0 && !isLeftOut(nal)) nals.push(nal)
    at = next
  }
  return nals
}

function withoutZeros(nal: Buffer): Buffer {
  let end = nal.length
  while (end > 0 && nal[end - 1] === 0) end -= 1
  return nal.subarray(0, end)
}
