import { describe, expect, it } from 'vitest'
import { refuseSlateMedia, slateLimitsOf, slateMediaTypeOf } from '../../../src/core/channels/slate.ts'

const ftyp = [0, 0, 0, 0x18, 0x66, 0x74, 0x79, 0x70]

it.each([
  ['image/jpeg', [0xff, 0xd8, 0xff, 0xe0]],
  ['image/png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['video/mp4', ftyp],
  [null, [0xff, 0xd8]],
  [null, [0x89, 0x51, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  [null, ftyp.slice(0, 7)],
  [null, []],
])('the content of a slate is %s by its first bytes', (type, bytes) =>
  expect(slateMediaTypeOf(Uint8Array.from(bytes))).toBe(type),
)

describe('a slate', () => {
  const image = { mediaType: 'image/png', width: 4096, height: 16, durationMs: null, hasAudio: false } as const
  const clip = { mediaType: 'video/mp4', width: 1920, height: 1920, durationMs: 20_000, hasAudio: true } as const
  const problemOf = (
    media: typeof image | typeof clip,
    change: Partial<Record<'width' | 'height' | 'durationMs', number>>,
  ) => refuseSlateMedia({ ...media, ...change }, slateLimitsOf(media.mediaType))?.code ?? null

  it.each([
    [image, {}, null],
    [image, { width: 4097 }, 'too_large'],
    [image, { height: 4097 }, 'too_large'],
    [image, { height: 15 }, 'broken'],
    [image, { width: 15 }, 'broken'],
    [clip, {}, null],
    [clip, { height: 1921 }, 'too_large'],
    [clip, { durationMs: 20_001 }, 'too_long'],
  ] as const)('%j with %j: %s', (media, change, problem) => expect(problemOf(media, change)).toBe(problem))
})
