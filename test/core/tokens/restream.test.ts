import { describe, expect, test } from 'vitest'
import { applyPatch } from '../../../src/core/tokens/patch.ts'
import { readTokenCreate } from '../../../src/core/tokens/create.ts'
import { readTokenUpdate } from '../../../src/core/tokens/update.ts'
import { refuseTargets } from '../../../src/core/tokens/restream.ts'
import { toTokenRecord } from '../../../src/core/tokens/record.ts'
import type { RestreamTarget } from '../../../src/core/tokens/types.ts'
import { aToken, error, plainBody, value } from './samples.ts'

const target = { url: 'rtmps://live.example.com/app', key: 'live_0123456789' }
const stored: RestreamTarget = { url: target.url, label: 'One', enabled: true, transcode: false, shownKey: '••••789' }

const create = (restream: unknown) => readTokenCreate('publish', plainBody({ restream }))
const update = (body: object, ...targets: RestreamTarget[]) =>
  applyPatch(aToken({ restream: targets }), value(readTokenUpdate('publish', body)))

describe('the targets of a new token', () => {
  test('are stored without their keys, which are apart from them', () => {
    const { rules, restreamKeys } = value(
      create([target, { ...target, key: 'another-key', label: 'Two', enabled: false, transcode: true }]),
    )
    expect(rules.restream).toEqual([
      { url: target.url, label: '', enabled: true, transcode: false, shownKey: '••••789' },
      { url: target.url, label: 'Two', enabled: false, transcode: true, shownKey: '••••ey' },
    ])
    expect(restreamKeys).toEqual([{ key: target.key }, { key: 'another-key' }])
    expect(JSON.stringify(rules)).not.toContain(target.key)
  })

  test('are none by default', () => {
    for (const none of [{}, { restream: null }, { restream: [] }]) {
      expect(value(readTokenCreate('publish', plainBody(none))).rules.restream).toEqual([])
    }
  })

  test.each([
    [[{ url: target.url }], 'restream[0].key'],
    [[{ key: target.key }], 'restream[0].url'],
    [[{ ...target, key: 'abcd' }], 'restream[0].key'],
    [[{ ...target, key: 'a'.repeat(513) }], 'restream[0].key'],
    [[{ ...target, key: 'with a blank' }], 'restream[0].key'],
    [[{ ...target, key: '••••789' }], 'restream[0].key'],
    [[{ ...target, url: 'whips://live.example.com' }], 'restream[0].url'],
    [[{ url: 'whips://live.example.com/whip' }], 'restream[0].key'],
    [[{ ...target, url: 'srt://live.example.com:9000' }], 'restream[0].key'],
    [[{ url: 'srt://live.example.com:9000?maxbw=1' }], 'restream[0].url'],
    [[{ ...target, url: 'rtsp://live.example.com/show' }], 'restream[0].key'],
    [[target, { ...target, url: 'ftp://live.example.com/app' }], 'restream[1].url'],
    [[{ ...target, label: 'a\u0000b' }], 'restream[0].label'],
    [[{ ...target, colour: 'red' }], 'restream[0].colour'],
    [[target, target], 'restream[1]'],
    [Array.from({ length: 11 }, (_, at) => ({ ...target, key: `${target.key}${at}` })), 'restream'],
    ['all', 'restream'],
  ])('are refused with the field and the reason: %j', (restream, field) => {
    const problems = error(create(restream))
    expect(Object.keys(problems)).toEqual([field])
    expect(JSON.stringify(problems)).not.toContain(target.key)
  })

  test('belong to publish tokens', () => {
    const problems = error(readTokenCreate('subscribe', plainBody({ restream: [] })))
    expect(problems['restream']?.[0]).toContain('only publish tokens have it')
  })
})

describe('an update', () => {
  test('without targets leaves them and their keys', () => {
    const { rules, restreamKeys } = value(update({ isActive: false }, stored))
    expect([rules.restream, restreamKeys]).toEqual([[stored], null])
  })

  test('replaces the list, in either spelling', () => {
    for (const name of ['restream', 'updateRestream']) {
      const { rules, restreamKeys } = value(update({ [name]: [target] }, stored, stored))
      expect(rules.restream).toEqual([{ ...stored, label: '' }])
      expect(restreamKeys).toEqual([{ key: target.key }])
      expect(value(update({ [name]: [] }, stored)).restreamKeys).toEqual([])
    }
  })

  test('keeps the key of a target whose key it sends as the record shows it', () => {
    const other = { ...stored, url: 'rtmp://other.example.com/app' }
    const body = { restream: [target, { url: stored.url, key: stored.shownKey, enabled: false }] }
    const { rules, restreamKeys } = value(update(body, other, stored))
    expect(restreamKeys).toEqual([{ key: target.key }, { kept: 1 }])
    expect(rules.restream[1]).toEqual({ ...stored, label: '', enabled: false })
  })

  test('cannot take the key of a target along to another URL', () => {
    const body = { restream: [{ url: 'rtmp://elsewhere.example.net/app', key: stored.shownKey }] }
    expect(Object.keys(error(update(body, stored)))).toEqual(['restream[0].key'])
  })
})

test('a record shows the end of a key, and a file of provisioning all of it', () => {
  const token = aToken({ restream: [stored] })
  const shown = { url: stored.url, label: 'One', enabled: true, transcode: false }
  expect(toTokenRecord(token, '')).toMatchObject({ restream: [{ ...shown, key: '••••789' }] })
  expect(toTokenRecord(token, '', undefined, [target.key])).toMatchObject({ restream: [{ ...shown, key: target.key }] })
})

test('a host that this installation does not allow is refused with its place in the list', () => {
  const policy = { allowPrivate: false, hasAddress: () => false, isOurs: (host: string) => host === 'own.example.com' }
  const to = (url: string): RestreamTarget => ({ ...stored, url })
  const problems = refuseTargets([to('rtmp://127.0.0.1/app'), stored, to('rtmp://own.example.com/app')], policy)
  expect(Object.keys(problems ?? {})).toEqual(['restream[0].url', 'restream[2].url'])
  expect(
    refuseTargets([to('rtmp://127.0.0.1/app')], { ...policy, allowPrivate: true, hasAddress: () => true }),
  ).toBeNull()
})

describe('a target of SRT', () => {
  const url = 'srt://live.example.com:9000?streamid=show%3Ft%3Da-long-token&passphrase=correct-horse'
  const shown = 'srt://live.example.com:9000?streamid=••••oken&passphrase=••••rse'
  const kept: RestreamTarget = { url: shown, label: '', enabled: true, transcode: false, shownKey: '' }

  test('is stored without the secrets of its URL, which is sealed whole', () => {
    const { rules, restreamKeys } = value(create([{ url }, { url: 'srt://live.example.com:9000', key: '' }]))
    expect(rules.restream).toEqual([kept, { ...kept, url: 'srt://live.example.com:9000' }])
    expect(restreamKeys).toEqual([{ key: url }, { key: 'srt://live.example.com:9000' }])
    expect(JSON.stringify(rules)).not.toMatch(/a-long|correct/)
  })

  test('keeps its secrets in an update that sends what a record shows, and at no other address', () => {
    const [record] = (toTokenRecord(aToken({ restream: [kept] }), '') as { restream: object[] }).restream
    expect(record).toMatchObject({ url: shown, key: '' })
    const { rules, restreamKeys } = value(update({ restream: [{ ...record, enabled: false }] }, kept))
    expect([restreamKeys, rules.restream]).toEqual([[{ kept: 0 }], [{ ...kept, enabled: false }]])
    const moved = shown.replace('live.example.com', 'elsewhere.example.net')
    expect(Object.keys(error(update({ restream: [{ url: moved }] }, kept)))).toEqual(['restream[0].url'])
  })

  test('has its whole URL in a file of provisioning', () => {
    expect(toTokenRecord(aToken({ restream: [kept] }), '', undefined, [url])).toMatchObject({
      restream: [{ url, key: '' }],
    })
  })
})
