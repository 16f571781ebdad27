import { Check } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { patched, readWebhookCreate, readWebhookUpdate, toWebhookRecord } from '../../../src/core/webhooks/rules.ts'
import { WebhookRecord } from '../../../src/core/webhooks/schema.ts'
import { checkTarget } from '../../../src/core/webhooks/target.ts'
import type { Webhook } from '../../../src/core/webhooks/types.ts'

const URL_OK = 'https://hooks.example.com/in'
const checkUrl = (url: string) => checkTarget(url, false)
const create = (body: unknown) => readWebhookCreate(body, checkUrl)
const update = (body: unknown) => readWebhookUpdate(body, checkUrl)

const OFF = {
  feeds: false,
  recording: false,
  thumbnail: false,
  transcoder: false,
  restream: false,
  feedHealth: false,
  viewerConnection: false,
}
const WEBHOOK: Webhook = {
  id: 7,
  accountId: 'a1b2c3',
  addedAtMs: 1,
  url: URL_OK,
  hooks: { ...OFF, feeds: true, recording: true },
  filter: 'prod-.*',
  failuresInRow: 0,
  disabled: { untilMs: 1_750_000_000_000, reason: [{ code: 'text', values: { text: 'too much' } }] },
}

describe('a create', () => {
  test('needs a url; every switch is off and nothing is filtered', () => {
    expect(create({ url: URL_OK })).toEqual({ ok: true, value: { url: URL_OK, hooks: OFF, filter: null } })
    expect(create({ url: URL_OK, isFeedHooks: null, filter: null })).toEqual(create({ url: URL_OK }))
  })

  test('sets each switch by its name, recordings by either of two', () => {
    const names = {
      isFeedHooks: 'feeds',
      isFeedHealthHooks: 'feedHealth',
      isRecordingHooks: 'recording',
      isMediaHooks: 'recording',
      isThumbnailHooks: 'thumbnail',
      isTranscoderHooks: 'transcoder',
      isRestreamHooks: 'restream',
      isViewerConnectionHooks: 'viewerConnection',
    }
    for (const [flag, type] of Object.entries(names)) {
      expect(create({ url: URL_OK, [flag]: true })).toMatchObject({ value: { hooks: { ...OFF, [type]: true } } })
    }
  })

  test('accepts isClipHooks that is off, and refuses it by name when it is on', () => {
    for (const isClipHooks of [false, null]) {
      expect(create({ url: URL_OK, isClipHooks })).toEqual(create({ url: URL_OK }))
      expect(update({ isFeedHooks: true, isClipHooks })).toEqual(update({ isFeedHooks: true }))
    }
    const refused = { ok: false, error: { isClipHooks: [expect.stringContaining('isClipHooks is not built: ')] } }
    expect(create({ url: URL_OK, isClipHooks: true })).toEqual(refused)
    expect(update({ isClipHooks: true })).toEqual(refused)
    expect(toWebhookRecord(WEBHOOK, 's', 0)).toMatchObject({ isClipHooks: false })
  })

  test('accepts both names of the recordings when they agree, and names both when they do not', () => {
    const both = (isRecordingHooks: boolean | null, isMediaHooks: boolean | null) =>
      create({ url: URL_OK, isRecordingHooks, isMediaHooks })
    expect(both(true, true)).toMatchObject({ value: { hooks: { recording: true } } })
    expect(both(false, false)).toMatchObject({ value: { hooks: { recording: false } } })
    expect(both(null, true)).toMatchObject({ value: { hooks: { recording: true } } })
    const message = 'isRecordingHooks and isMediaHooks are one switch and must agree'
    expect(both(true, false)).toEqual({ ok: false, error: { isRecordingHooks: [message], isMediaHooks: [message] } })
  })

  test('reports all errors at once, including unknown names', () => {
    const body = {
      url: 'http://169.254.169.254/',
      isFeedHooks: 'yes',
      isfeedhooks: true,
      filter: '(',
      secret: 'x',
      refreshSecret: true,
    }
    expect(create(body)).toEqual({
      ok: false,
      error: {
        url: ['must begin with https:// (the setting `webhooks.allowPrivateTargets` allows http://)'],
        isFeedHooks: [expect.stringContaining('true or false')],
        isfeedhooks: [expect.stringContaining('did you mean isFeedHooks?')],
        filter: [expect.stringContaining('not a valid RE2 pattern')],
        secret: [expect.stringContaining('is made by Sluice')],
        refreshSecret: [expect.stringContaining('belongs to updates')],
      },
    })
  })

  test.each([
    [null, 'body'],
    [[], 'body'],
    ['x', 'body'],
    [{}, 'url'],
    [{ url: null }, 'url'],
    [{ url: '' }, 'url'],
    [{ url: 5 }, 'url'],
    [{ url: 'https://localhost/' }, 'url'],
    [{ url: URL_OK, filter: '' }, 'filter'],
    [{ url: URL_OK, filter: 'x'.repeat(129) }, 'filter'],
    [{ url: URL_OK, filter: '(?=x)' }, 'filter'],
    [JSON.parse('{"url":"https://a.example/","__proto__":{"x":1}}'), '__proto__'],
  ])('%j is refused at %s', (body, path) => {
    const result = create(body)
    expect(result.ok).toBe(false)
    if (!result.ok) expect(Object.keys(result.error)).toEqual([path])
  })

  test('accepts a filter of 128 characters', () => {
    expect(create({ url: URL_OK, filter: 'x'.repeat(128) }).ok).toBe(true)
  })
})

describe('an update', () => {
  test('changes the named fields and nothing else', () => {
    const result = update({ isThumbnailHooks: true, isMediaHooks: false })
    if (!result.ok) throw new Error('expected a patch')
    expect(result.value).toEqual({
      set: {},
      hooks: { thumbnail: true, recording: false },
      refreshSecret: false,
      reEnable: false,
    })
    expect(patched(WEBHOOK, result.value)).toEqual({
      ...WEBHOOK,
      hooks: { ...OFF, feeds: true, thumbnail: true },
    })
  })

  test('removes the filter with null, keeps it without, and changes it', () => {
    const filterAfter = (body: unknown) => {
      const result = update(body)
      return result.ok ? patched(WEBHOOK, result.value).filter : result.error
    }
    expect(filterAfter({ filter: null })).toBeNull()
    expect(filterAfter({ isFeedHooks: true })).toBe('prod-.*')
    expect(filterAfter({ filter: 'test-.*' })).toBe('test-.*')
  })

  test('ends a pause by reEnable or a url, and by nothing else', () => {
    const pausedAfter = (body: unknown) => {
      const result = update(body)
      if (!result.ok) throw new Error('expected a patch')
      return patched({ ...WEBHOOK, failuresInRow: 3 }, result.value)
    }
    for (const body of [{ reEnable: true }, { url: URL_OK }]) {
      expect(pausedAfter(body)).toMatchObject({ disabled: null, failuresInRow: 0 })
    }
    for (const body of [{ refreshSecret: true }, { reEnable: false }, { url: null, isFeedHooks: true }]) {
      expect(pausedAfter(body)).toMatchObject({ disabled: WEBHOOK.disabled, failuresInRow: 3 })
    }
  })

  test('requests another secret only by true', () => {
    expect(update({ refreshSecret: true })).toMatchObject({ value: { refreshSecret: true } })
    expect(update({ refreshSecret: false })).toMatchObject({ value: { refreshSecret: false } })
    expect(update({ refreshSecret: 'true' })).toMatchObject({ ok: false })
  })

  test('that is empty or invalid is refused', () => {
    const nothing = { ok: false, error: { webhook: ['No properties specified to update.'] } }
    expect(update({})).toEqual(nothing)
    expect(update({ isFeedHooks: null, url: null })).toEqual(nothing)
    expect(update({ disabled: null })).toMatchObject({ error: { disabled: [expect.stringContaining('reEnable')] } })
    expect(update({ reenable: true })).toMatchObject({
      error: { reenable: [expect.stringContaining('mean reEnable?')] },
    })
    expect(update({ url: 'https://10.0.0.1/' })).toMatchObject({
      error: { url: [expect.stringContaining('10.0.0.1')] },
    })
    expect(update({ isMediaHooks: true, isRecordingHooks: false })).toMatchObject({ ok: false })
  })
})

describe('a record', () => {
  test('shows both names of the recordings, the secret, and a current pause', () => {
    const record = toWebhookRecord(WEBHOOK, 'c2VjcmV0', WEBHOOK.disabled!.untilMs - 1)
    expect(record).toEqual({
      id: 7,
      url: URL_OK,
      secret: 'c2VjcmV0',
      isFeedHooks: true,
      isFeedHealthHooks: false,
      isMediaHooks: true,
      isRecordingHooks: true,
      isThumbnailHooks: false,
      isTranscoderHooks: false,
      isRestreamHooks: false,
      isViewerConnectionHooks: false,
      isClipHooks: false,
      filter: 'prod-.*',
      disabled: {
        until: '2025-06-15T15:06:40.000Z',
        reason: 'too much',
        sentences: [{ code: 'text', values: { text: 'too much' } }],
      },
    })
    expect(Check(WebhookRecord, record)).toBe(true)
  })

  test('says how many deliveries failed since the last that arrived', () => {
    const [none, three] = [0, 3].map((failuresInRow) =>
      toWebhookRecord({ ...WEBHOOK, disabled: null, failuresInRow }, 'c2VjcmV0', 0),
    )
    expect(none).not.toHaveProperty('failuresInRow')
    expect(three).toMatchObject({ failuresInRow: 3 })
    expect(Check(WebhookRecord, three)).toBe(true)
  })

  test('leaves out unset fields and an ended pause', () => {
    const record = toWebhookRecord({ ...WEBHOOK, filter: null }, 'c2VjcmV0', WEBHOOK.disabled!.untilMs)
    expect(record).not.toHaveProperty('filter')
    expect(record).not.toHaveProperty('disabled')
    expect(Check(WebhookRecord, record)).toBe(true)
  })
})
