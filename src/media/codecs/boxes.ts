/** A box of an ISO base media file (ISO/IEC 14496-12). */
export interface Box {
  readonly type: string
  /** Without its header. */
  readonly payload: DataView
}

const HEADER_BYTES = 8

/** The sequence of boxes in `bytes`. Ends at the first incomplete box. */
function* boxesIn(bytes: DataView): Generator<Box> {
  for (let at = 0; at + HEADER_BYTES <= bytes.byteLength; ) {
    const size = bytes.getUint32(at)
    if (size < HEADER_BYTES || at + size > bytes.byteLength) return
    yield { type: typeAt(bytes, at + 4), payload: slice(bytes, at + HEADER_BYTES, at + size) }
    at += size
  }
}

/** The first box on a path such as `mdia`, `mdhd`. */
export function find(bytes: DataView, ...path: readonly string[]): DataView | undefined {
  let found: DataView | undefined = bytes
  for (const type of path) found = found && [...boxesIn(found)].find((box) => box.type === type)?.payload
  return found
}

/** All boxes of one type at the top level of `bytes`. */
export const allBoxes = (bytes: DataView, type: string): DataView[] =>
  [...boxesIn(bytes)].filter((box) => box.type === type).map((box) => box.payload)

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const slice = (bytes: DataView, from: number, to: number): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset + from, to - from)

function typeAt(bytes: DataView, at: number): string {
  return String.fromCharCode(bytes.getUint8(at), bytes.getUint8(at + 1), bytes.getUint8(at + 2), bytes.getUint8(at + 3))
}
