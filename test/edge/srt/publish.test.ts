import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerSrt } from '../../../src/edge/srt/publish.ts'
import type { IngestParts } from '../../../src/edge/ingest/broadcast.ts'
import { Hub } from '../../../src/media/hub.ts'
import { SourceMeter } from '../../../src/media/measure/sourceMeter.ts'
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
  const unlock = () => {
    opened += 1
    return Promise.resolve(false)
  }
  const streamKeys: IngestParts['streamKeys'] = () =>
    Promise.resolve({ ok: false, status: 'no such key', reason: 'unauthorized' })
  const parts: IngestParts = {
    ctx: sluice.app.ctx,
    streamKeys,
    makeHub: () => new Hub(),
    makeMeter: () => new SourceMeter(),
    feed: () => () => undefined,
  }
  const request = { peer: '192.0.2.1', streamId, unlock, cut: () => Promise.resolve() }
  const answer = await answerSrt(parts, () => false, request)
  return [opened, answer.ok || answer.reason]
}

test('the keys of a caller are opened for a publish token or a stream key that exists alone', async () => {
  const { token } = await makeToken(sluice, 'publish')
  const { token: viewer } = await makeToken(sluice, 'subscribe')
  expect(await opens(`show?t=${token}`)).toEqual([1, 'passphrase'])
  for (const streamId of ['show', `show?t=${'0'.repeat(64)}`, `show?t=${viewer}`, `live/${'0'.repeat(32)}`, '?t=x'])
    expect((await opens(streamId))[0]).toBe(0)
})
