const HEAD_END = '\r\n\r\n'
/** Far more than the lines in front of a JPEG. */
const HEAD_MAX = 1024
/** Far more than a thumbnail. A larger one is left out. */
const JPEG_MAX = 2 * 1024 * 1024

/**
 * Reads what ffmpeg writes as `mpjpeg`: each JPEG after a head with its `Content-length`. Takes at most one JPEG into memory,
 * and nothing more after a head that it cannot read.
 */
export class ThumbnailReader {
  readonly #take: (jpeg: Uint8Array) => void
  #head = ''
  /** What comes of the JPEG at hand; null: its head comes. */
  #jpeg: { readonly chunks: Buffer[]; missing: number; readonly isTooLarge: boolean } | null = null
  #isBroken = false

  /** @param take gets each JPEG when it is complete */
  constructor(take: (jpeg: Uint8Array) => void) {
    this.#take = take
  }

  push(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0 && !this.#isBroken) rest = this.#jpeg === null ? this.#readHead(rest) : this.#readJpeg(rest)
  }

  /** Returns what follows. */
  #readHead(chunk: Buffer): Buffer {
    const before = this.#head.length
    const head = this.#head + chunk.toString('latin1', 0, HEAD_MAX)
    const end = head.indexOf(HEAD_END)
    const [, length] = end < 0 ? [] : (/content-length: *(\d{1,10})/i.exec(head.slice(0, end)) ?? [])
    this.#isBroken = end < 0 ? head.length >= HEAD_MAX : length === undefined
    this.#head = end < 0 ? head : ''
    if (length === undefined) return chunk.subarray(chunk.length)
    this.#jpeg = { chunks: [], missing: Number(length), isTooLarge: Number(length) > JPEG_MAX }
    return chunk.subarray(end + HEAD_END.length - before)
  }

  #readJpeg(chunk: Buffer): Buffer {
    const jpeg = this.#jpeg
    if (jpeg === null) return chunk
    const part = chunk.subarray(0, jpeg.missing)
    jpeg.missing -= part.length
    if (!jpeg.isTooLarge) jpeg.chunks.push(part)
    if (jpeg.missing > 0) return chunk.subarray(chunk.length)
    this.#jpeg = null
    if (!jpeg.isTooLarge) this.#take(Buffer.concat(jpeg.chunks))
    return chunk.subarray(part.length)
  }
}
