import { describe, expect, it, test } from 'vitest'
import { readTokenCreate } from '../../../src/core/tokens/create.ts'
import { toTokenRecord } from '../../../src/core/tokens/record.ts'
import { aToken, error, plainBody, value } from './samples.ts'

const read = (hlsRenditions: unknown, kind: 'publish' | 'subscribe' = 'publish') =>
  readTokenCreate(kind, plainBody({ hlsRenditions }))

describe('the codecs of HLS', () => {
  const codecs = (hlsCodecs: unknown, kind: 'publish' | 'subscribe' = 'publish') =>
    readTokenCreate(kind, plainBody({ hlsCodecs }))

  it('are H.264 and AAC, or those of the publisher', () => {
    for (const [sent, stored] of [
      ['source', 'source'],
      ['h264', 'h264'],
      [null, 'h264'],
    ])
      expect(value(codecs(sent)).rules.hlsCodecs).toBe(stored)
    expect(toTokenRecord(aToken({ hlsCodecs: 'source' }), '')).toMatchObject({ hlsCodecs: 'source' })
    expect(toTokenRecord(aToken(), '')).not.toHaveProperty('hlsCodecs')
  })

  it('are refused by name where they are another word, or of a subscribe token', () => {
    expect(Object.keys(error(codecs('hevc')))).toEqual(['hlsCodecs'])
    expect(error(codecs('source', 'subscribe'))).toMatchObject({
      hlsCodecs: [expect.stringContaining('only publish tokens')],
    })
  })
})

describe('renditions of a publish token', () => {
  it('are stored with the largest first', () => {
    const small = { height: 360, bitrate: 600_000 }
    const large = { height: 720, bitrate: 2_500_000 }
    expect(value(read([small, large])).rules.hlsRenditions).toEqual([large, small])
  })

  it('are in the record of a token that has some, and only there', () => {
    const hlsRenditions = [{ height: 480, bitrate: 900_000 }]
    expect(toTokenRecord(aToken({ hlsRenditions }), '')).toMatchObject({ hlsRenditions })
    expect(toTokenRecord(aToken(), '')).not.toHaveProperty('hlsRenditions')
  })

  test.each([
    ['more than four', Array.from({ length: 5 }, (_, n) => ({ height: 200 + 2 * n, bitrate: 500_000 })), ''],
    ['a large one', [{ height: 1082, bitrate: 500_000 }], '[0].height'],
    ['a small one', [{ height: 94, bitrate: 500_000 }], '[0].height'],
    ['an odd height', [{ height: 481, bitrate: 500_000 }], '[0].height'],
    ['a high bitrate', [{ height: 480, bitrate: 10_000_001 }], '[0].bitrate'],
    ['a low bitrate', [{ height: 480, bitrate: 49_999 }], '[0].bitrate'],
    ['no bitrate', [{ height: 480 }], '[0].bitrate'],
    ['a width', [{ height: 480, width: 640, bitrate: 500_000 }], '[0].width'],
    ['two of one height', [480, 480].map((height) => ({ height, bitrate: 500_000 })), '[1].height'],
    ['a name', ['480p'], '[0]'],
  ])('with %s are refused by name', (_what, renditions, path) => {
    expect(Object.keys(error(read(renditions)))).toEqual([`hlsRenditions${path}`])
  })

  it('are refused on a subscribe token', () => {
    expect(error(read([{ height: 480, bitrate: 900_000 }], 'subscribe'))).toEqual({
      hlsRenditions: ['unknown property hlsRenditions; only publish tokens have it'],
    })
  })
})
