import { describe, expect, test } from 'vitest'
import { readStreamId } from '../../../src/edge/srt/streamId.ts'

const TOKEN = 'ab'.repeat(32)
const SHORT = Buffer.from(TOKEN, 'hex').toString('base64url')

function read(written: string) {
  const target = readStreamId(written)
  if (!target.ok) return target.error
  const { destination, ...rest } = target.value
  if (destination.kind !== 'stream') return destination
  const { streamName, presented, sourceId } = destination
  return { streamName, presented, sourceId, ...rest }
}

describe('a stream id', () => {
  test.each([
    ['plain, with a short token', `show?t=${SHORT}`],
    ['plain, with a long token', `show?token=${TOKEN}`],
    ['in the syntax of the guidelines', `#!::r=show,m=publish,s=${TOKEN}`],
    ['the same, with the token as user', `#!::u=${TOKEN},r=show`],
    ['the same, with a type beside it', `#!::t=stream,r=show,m=publish,token=${TOKEN}`],
    ['the same, with the token where the type is', `#!::r=show,t=${SHORT}`],
    ['of MediaMTX', `publish:show:${TOKEN}`],
    ['of MediaMTX, with a user', `publish:show:me:${TOKEN}`],
    ['of MediaMTX, with a query', `publish:show:token=${TOKEN}`],
    ['plain and percent-encoded, as ffmpeg and OBS send it', `show%3Ft%3D${SHORT}`],
    ['of MediaMTX, percent-encoded, as ffmpeg sends it', `publish%3Ashow%3A${TOKEN}`],
    ['of the guidelines, percent-encoded', `%23%21%3A%3Ar%3Dshow%2Cs%3D${TOKEN}`],
    ['of the guidelines, with the sign alone that ends an address encoded', `%23!::r=show,m=publish,s=${TOKEN}`],
  ])('%s names the stream and the token', (_, written) => {
    expect(read(written)).toEqual({
      streamName: 'show',
      presented: TOKEN,
      sourceId: null,
      demandsEncryption: false,
      isEncodedTwice: false,
    })
  })

  test.each(['live/abc', 'live%2Fabc', '#!::r=live/abc,m=publish', 'publish:live/abc', 'live/abc?e'])(
    '%s names the stream key of a channel',
    (written) => expect(read(written)).toEqual({ kind: 'key', key: 'abc' }),
  )

  test('that begins so and has a token names a stream', () => {
    expect(read(`live/abc?t=${SHORT}`)).toMatchObject({ streamName: 'live/abc', presented: TOKEN })
  })

  test('that is encoded twice is read as well', () => {
    const twice = encodeURIComponent(encodeURIComponent(`#!::r=show,s=${TOKEN}`))
    expect(read(twice)).toMatchObject({ streamName: 'show', presented: TOKEN, isEncodedTwice: true })
    expect(read(encodeURIComponent(encodeURIComponent(`show?token=${TOKEN}`)))).toMatchObject({
      streamName: 'show',
      isEncodedTwice: true,
    })
  })

  test('may have a source, demand encryption, and have parameters of other servers', () => {
    expect(read(`show?t=${SHORT}&e&sourceId=cam2&latency=9`)).toMatchObject({
      sourceId: 'cam2',
      demandsEncryption: true,
    })
    expect(read(`#!::r=show,s=${TOKEN},e,sourceId=cam2`)).toMatchObject({ sourceId: 'cam2', demandsEncryption: true })
  })

  test('has publishing parameters, and is refused for those that Sluice does not have', () => {
    expect(readStreamId(`show?t=${SHORT}&audioOnly&noRecord&priority=3`)).toMatchObject({
      ok: true,
      value: { destination: { parameters: { without: 'video', record: false, priority: 3 } } },
    })
    expect(read(`#!::r=show,s=${TOKEN},extraLatency=200`)).toEqual({
      kind: 'none',
      why: 'extraLatency is not supported: media is passed on as it arrives',
      of: { streamName: 'show', presented: TOKEN },
    })
  })

  test('may have no token', () => {
    expect(read('show')).toMatchObject({ streamName: 'show', presented: null })
  })

  test('with a mode other than to publish is refused for that', () => {
    expect([read('#!::r=show,m=request'), read('#!::r=show,m=bidirectional'), read('read:show')]).toEqual([
      'mode',
      'mode',
      'mode',
    ])
  })

  test.each(['', '?t=x', '#!::', 'publish:', '#!::s=x'])('%j has no stream name', (written) => {
    expect(read(written)).toEqual({
      kind: 'none',
      why: 'The stream name is missing; use STREAM?t=TOKEN as stream id',
    })
  })

  test('that is no valid percent-encoding is taken literally', () => {
    expect(read('100%25?t=x')).toMatchObject({ streamName: '100%' })
    expect(read('100%?t=x')).toMatchObject({ streamName: '100%' })
  })
})
