import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { ThumbnailReader } from '../../../src/media/encoder/thumbnailReader.ts'

/** As ffmpeg writes it. */
const mpjpeg = (jpegs: readonly Uint8Array[]): Buffer =>
  Buffer.concat([
    Buffer.from('--ffmpeg\r\n'),
    ...jpegs.flatMap((jpeg) => [
      Buffer.from(`Content-type: image/jpeg\r\nContent-length: ${jpeg.length}\r\n\r\n`),
      jpeg,
      Buffer.from('\r\n--ffmpeg\r\n'),
    ]),
  ])

function read(chunks: readonly Buffer[]): Buffer[] {
  const found: Buffer[] = []
  const reader = new ThumbnailReader((jpeg) => found.push(Buffer.from(jpeg)))
  for (const chunk of chunks) reader.push(chunk)
  return found
}

test('each JPEG comes whole, however the pipe divides it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 3000, size: 'max' }), { maxLength: 4 }),
      fc.array(fc.integer({ min: 1, max: 2000 }), { minLength: 1 }),
      (jpegs, sizes) => {
        const chunks: Buffer[] = []
        let rest = mpjpeg(jpegs)
        for (let at = 0; rest.length > 0; at++) {
          const size = sizes[at % sizes.length] ?? 1
          chunks.push(rest.subarray(0, size))
          rest = rest.subarray(size)
        }
        expect(read(chunks)).toEqual(jpegs.map((jpeg) => Buffer.from(jpeg)))
      },
    ),
  )
})

test('a JPEG that is too large is left out, and what is no head ends the reading', () => {
  const [large, small] = [Buffer.alloc(3 * 1024 * 1024, 1), Buffer.from('small')]
  expect(read([mpjpeg([small, large, small])])).toEqual([small, small])
  expect(read([Buffer.alloc(5000, 1), mpjpeg([small])])).toEqual([])
  expect(read([Buffer.from('Content-type: image/jpeg\r\n\r\n'), mpjpeg([small])])).toEqual([])
})
