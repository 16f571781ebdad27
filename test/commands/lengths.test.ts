import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { createChannel } from '../../src/commands/channels/channels.ts'
import { startChannel, stopChannel } from '../../src/commands/channels/runs/start.ts'
import { stepEngine } from '../../src/commands/channels/runs/step.ts'
import { cliActor } from '../../src/commands/context.ts'
import { beginRecording, endRecording } from '../../src/commands/recordings/lifecycle.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { makeToken, publish, startTestNode, type TestNode } from '../support/testNode.ts'

const HOUR_MS = 3_600_000

describe.each(testedStores())('what is on record on %s', (engine) => {
  const clock = new ManualClock()
  let place: Place
  let at: TestNode
  beforeAll(async () => {
    place = await newPlace(engine)
    at = await startTestNode({ url: place.url, clock })
  })
  afterAll(async () => {
    await at.close()
    await place.remove()
  })

  /** A running channel with one engine. */
  async function running() {
    const engines = [{ name: 'Main', region: 'local', quality: { abrLadderId: 'ab_default' } }]
    const ingests = [{ name: 'Camera', type: 'rtmp-push', region: 'local', engines }]
    const actor = cliActor(at.accountId)
    const made = await createChannel(at.ctx, actor, { name: 'Stage', timeout: 0, ingests })
    if (!made.ok) throw new Error(JSON.stringify(made.error))
    const { id, engines: own } = made.value
    const engineId = own[0]?.id ?? ''
    await startChannel(at.ctx, actor, id)
    return {
      startedAtMs: clock.now(),
      stop: () => stopChannel(at.ctx, actor, id),
      lose: () =>
        at.ctx.store.transaction((tx) =>
          stepEngine(at.ctx, tx, { accountId: at.accountId, channelId: id, engineId }, { kind: 'lost' }),
        ),
      run: async () => (await at.ctx.store.read.runs.page({ engineId, limit: 1 }))[0],
    }
  }

  it.each([
    ['put forward', HOUR_MS],
    ['put back', -HOUR_MS],
  ])('says how long a run of a channel took whose clock was %s meanwhile', async (_name, byMs) => {
    const { startedAtMs, stop, run } = await running()
    clock.advance(30_000)
    clock.setWall(byMs)
    await stop()
    const endedAtMs = byMs > 0 ? startedAtMs + 30_000 : clock.now()
    clock.setWall(-byMs)
    expect(await run()).toMatchObject({ startedAtMs: endedAtMs - 30_000, endedAtMs })
  })

  it('ends the run of a dead node not before its start, and not in the future', async () => {
    const { lose, run } = await running()
    clock.setWall(-HOUR_MS)
    await lose()
    const nowMs = clock.now()
    clock.setWall(HOUR_MS)
    expect(await run()).toMatchObject({ startedAtMs: nowMs, endedAtMs: nowMs })
  })

  it.each([
    ['with its last write', 30_000, 0, [0, 30_000]],
    ['now, if its file says later', 30_000, -HOUR_MS, [-HOUR_MS - 30_000, -HOUR_MS]],
    ['not before its start', -HOUR_MS, 0, [0, 0]],
  ])('ends a recording that is finished after a crash %s', async (_name, writtenMs, byMs, span) => {
    const { token } = await makeToken(at, 'publish')
    const streamName = `show ${byMs} ${writtenMs}`
    await publish(at, { presented: token, streamName })
    const [feed] = at.ctx.sessions.feeds.ofStream(at.accountId, streamName)
    if (!feed) throw new Error('no feed')
    const [id, atMs] = [`recording of ${streamName}`, clock.now()]
    // As after an answer that was lost.
    for (let n = 0; n < 2; n++) await beginRecording(at.ctx, feed, { id, hostKey: 'host', atMs, tracks: [] })
    clock.advance(byMs === 0 ? 60_000 : 0)
    clock.setWall(byMs)
    await endRecording(at.ctx, id, { atMs: atMs + writtenMs, problem: null })
    clock.setWall(-byMs)
    const found = await at.ctx.store.read.recordings.get(at.accountId, id)
    expect([Number(found?.startedAtMs) - atMs, Number(found?.endedAtMs) - atMs]).toEqual(span)
  })
})
