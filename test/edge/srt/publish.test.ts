import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerSrt } from '../../../src/edge/srt/publish.ts'
import type { IngestParts } from '../../../src/edge/ingest/broadcast.ts'
import { Hub } from '../../../src/media/hub.ts'
import { SourceMeter } from '../../../src/media/measure/sourceMeter.ts'
import { Simulcast } from '../../../src/media/simulcast.ts'
import type { SrtRequest } from '../../../src/media/srt/types.ts'
import { runApp, type RunningApp } from '../../support/app.ts'
import { makeToken } from '../../support/testNode.ts'

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp()
})
afterAll(() => sluice.close())

/** How often the keys of a caller are opened, each of which costs a derivation, and why it is refused. */
async function opens(streamId: string): Promise<[number, unknown]> {
  let opened = 0
  const refusal = await refusalOf(streamId, () => {
    opened += 1
    return Promise.resolve(false)
  })
  return [opened, refusal]
}

/** @param unlock null: the caller sends without encryption */
async function refusalOf(streamId: string, unlock: SrtRequest['unlock']): Promise<unknown> {
  const streamKeys: IngestParts['streamKeys'] = () =>
    Promise.resolve({ ok: false, status: 'no such key', reason: 'unauthorized' })
  const parts: IngestParts = {
    ctx: sluice.app.ctx,
    streamKeys,
    makeHub: () => new Hub(),
    makeMeter: () => new SourceMeter(),
    simulcast: new Simulcast(sluice.app.ctx.clock),
    feed: () => () => undefined,
  }
  const request = { peer: '192.0.2.1', streamId, unlock, cut: () => Promise.resolve() }
  const answer = await answerSrt(parts, () => false, request)
  return answer.ok || answer.reason
}

test('the keys of a caller are opened for a publish token or a stream key that exists alone', async () => {
  const { token } = await makeToken(sluice, 'publish')
  const { token: viewer } = await makeToken(sluice, 'subscribe')
  expect(await opens(`show?t=${token}`)).toEqual([1, 'passphrase'])
  for (const streamId of ['show', `show?t=${'0'.repeat(64)}`, `show?t=${viewer}`, `live/${'0'.repeat(32)}`, '?t=x'])
    expect((await opens(streamId))[0]).toBe(0)
})

test('the log of the account says that the passphrase is wrong or missing, and nothing of who has no token', async () => {
  const { token, id } = await makeToken(sluice, 'publish')
  const wrong = () => Promise.resolve(false)
  for (const stream of ['coded', 'coded', 'other']) await refusalOf(`${stream}?t=${token}`, wrong)
  expect(await refusalOf(`plain?e&t=${token}`, null)).toBe('unencrypted')
  for (const nobody of ['plain?e', `plain?e&t=${'0'.repeat(64)}`]) await refusalOf(nobody, null)
  const { json } = await sluice.call('GET', `/api/access/log?tokenId=${id}`)
  const rows = json.data.map((row: Record<string, unknown>) => [row['code'], row['streamName'], row['count']])
  expect(rows.toSorted()).toEqual([
    ['encryption_required', 'plain', 1],
    ['wrong_passphrase', 'coded', 2],
    ['wrong_passphrase', 'other', 1],
  ])
  expect(json.data[0]).toMatchObject({ protocol: 'srt', action: 'publish', tokenId: id, address: '192.0.2.1' })
  const { json: found } = await sluice.call('GET', '/api/access/log?code=encryption_required')
  expect(found.data).toHaveLength(1)
})
