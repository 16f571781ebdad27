import type { PixelSize } from './pixelSize.ts'

const MARKER = 0xff
const START_OF_IMAGE = 0xffd8
/** Of the markers from C0 to CF these three begin no frame (ITU-T T.81, table B.1). */
const OTHER = new Set([0xc4, 0xc8, 0xcc])

const isStartOfFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && !OTHER.has(marker)

/** The size of a JPEG in pixels, from the header of its frame (ITU-T T.81, section B.2.2). Null: it has none. */
export function jpegSize(image: Uint8Array): PixelSize | null {
  const view = new DataView(image.buffer, image.byteOffset, image.byteLength)
  if (image.length < 2 || view.getUint16(0) !== START_OF_IMAGE) return null
  let at = 2
  while (at + 9 <= image.length && view.getUint8(at) === MARKER) {
    const marker = view.getUint8(at + 1)
    if (isStartOfFrame(marker)) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) }
    // A marker may come after any number of bytes with all bits set.
    at += marker === MARKER ? 1 : 2 + view.getUint16(at + 2)
  }
  return null
}
