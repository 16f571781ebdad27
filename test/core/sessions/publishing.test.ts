import { describe, expect, it, test } from 'vitest'
import type { Protocol } from '../../../src/core/access/protocols.ts'
import { NO_PARAMETERS, readPublishing } from '../../../src/core/sessions/publishing.ts'

const read = (query: string, protocol: Protocol = 'rtmp') =>
  readPublishing(new URLSearchParams(query), protocol, ['token', 'sourceId'])
const parameters = (query: string, protocol?: Protocol) => {
  const result = read(query, protocol)
  if (!result.ok) throw new Error(result.error)
  return result.value
}

describe('a parameter of a publisher', () => {
  test.each([
    ['token=a&sourceId=b', {}],
    ['record', { record: true }],
    ['noRecord', { record: false }],
    ['noRecord=true&noRecord=false', { record: false }],
    ['noRecord=False', {}],
    ['noRecord=0', {}],
    ['record&noRecord', { record: false }],
    ['noRecord&record=1', { record: false }],
    ['noRestream', { noRestream: true }],
    ['norestream', { noRestream: true }],
    ['noRestream=false', {}],
    ['audioOnly', { without: 'video' }],
    ['videoOnly', { without: 'audio' }],
    ['noAudio', { without: 'audio' }],
    ['videoOnly&noAudio', { without: 'audio' }],
    ['audioOnly&videoOnly=false', { without: 'video' }],
    ['enableUTCInsertion', { utcTime: 'all' }],
    ['seiKeyFrameOnly&enableUTCInsertion', { utcTime: 'keyframes' }],
    ['seiKeyFrameOnly=false&enableUTCInsertion=true', { utcTime: 'all' }],
    ['priority=0&priority=4&priority', { priority: 0 }],
    ['priority=-2147483648', { priority: -2_147_483_648 }],
    ['priority', {}],
    ['extraLatency=0&intraOnlyForwarding=false', {}],
    ['enableUTCInsertion=0', { utcTime: 'none' }],
    ['simulcastId', { simulcastId: '' }],
    ['simulcastId=main&videoOnly&simulcastId=other', { simulcastId: 'main', without: 'audio' }],
    ['videoTargetBitrate=2000', {}],
    ['fps=3&AudioOnly&fps=4', { unknown: ['fps', 'AudioOnly'] }],
  ])('%s', (query, set) => {
    expect(parameters(query)).toEqual({ ...NO_PARAMETERS, ...set })
  })

  test.each([
    ['audioOnly&videoOnly', 'audioOnly and videoOnly exclude each other'],
    ['audioOnly&noAudio', 'audioOnly and noAudio exclude each other'],
    ['seiKeyFrameOnly', 'seiKeyFrameOnly needs enableUTCInsertion'],
    ['simulcastId&audioOnly', 'audioOnly and simulcastId exclude each other'],
    ['simulcastId=a%0ab', 'simulcastId must have 1 to 128 printable characters'],
    ['priority=high', 'priority must be a whole number from -2147483648 to 2147483647'],
    ['priority=2147483648', 'priority must be a whole number from -2147483648 to 2147483647'],
    ['priority=1.5', 'priority must be a whole number from -2147483648 to 2147483647'],
    ['intraOnlyForwarding', 'intraOnlyForwarding is not supported: viewers get every picture'],
    ['extraLatency=300', 'extraLatency is not supported: media is passed on as it arrives'],
  ])('that cannot be had is refused by name: %s', (query, error) => {
    expect(read(query)).toEqual({ ok: false, error })
  })

  it.each(['enableUTCInsertion', 'simulcastId'])(
    'is refused by the protocols that it does not work with: %s',
    (name) => {
      expect(read(name, 'whip')).toEqual({ ok: false, error: `${name} works only over RTMP and SRT` })
      expect(parameters('enableUTCInsertion=false&audioOnly', 'whip').without).toBe('video')
    },
  )
})

it('names a few of the unknown ones, and nothing that is no name', () => {
  const many = Array.from({ length: 20 }, (_, at) => `p${at}=1`).join('&')
  expect(parameters(many).unknown).toHaveLength(8)
  expect(parameters(`${encodeURIComponent('a\nb')}=1&${'x'.repeat(33)}=1&=1`).unknown).toEqual([])
  expect(parameters('constructor=1&__proto__=1').unknown).toEqual(['constructor', '__proto__'])
})
