import { afterAll, beforeAll, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { recordTarget } from '../../src/commands/restream/recordTarget.ts'
import type { TargetNews, TargetStatus } from '../../src/core/restream/state.ts'
import { newPlace, type Place } from '../support/place.ts'
import { targetReport } from '../support/targetReport.ts'
import { eventsOf, makeToken, publish, startTestNode, type TestNode } from '../support/testNode.ts'

const clock = new ManualClock()
let place: Place
let at: TestNode
beforeAll(async () => {
  place = await newPlace('SQLite')
  at = await startTestNode({ url: place.url, clock })
})
afterAll(async () => {
  await at.close()
  await place.remove()
})

test('each start and end of a target is reported once, also when a change is written twice or lost', async () => {
  const { accountId, ctx } = at
  const { id: tokenId, token } = await makeToken(at, 'publish')
  await publish(at, { presented: token, streamName: 'show' })
  const feedId = ctx.sessions.feeds.ofStream(accountId, 'show')[0]?.feedId ?? ''
  const record = async (status: TargetStatus, news: TargetNews | null) => {
    const report = targetReport(0, status, clock.now())
    const feed = { feedId, accountId, streamName: 'show', tokenId }
    for (let times = 0; times < 2; times += 1) await recordTarget(ctx, feed, report, news)
    clock.advance(1)
  }
  await record('live', 'started')
  // Its error is lost.
  await record('connecting', null)
  await record('live', 'started')
  // So are its end and the next attempt.
  await record('live', 'started')
  await record('waiting', 'error')
  await record('off', 'ended')
  const told = (await eventsOf(at)).filter(({ name }) => name.startsWith('restream'))
  expect(told.map(({ name }) => name)).toEqual([
    'restream started',
    'restream ended',
    'restream started',
    'restream error',
  ])
  const kept = await ctx.store.read.restreamEvents.ofFeeds(accountId, [feedId])
  expect(kept.map(({ status }) => status)).toEqual(['live', 'connecting', 'live', 'live', 'waiting', 'off'])
})
