import { afterAll, beforeAll, expect, it } from 'vitest'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes, noteTracks } from '../../src/commands/sessions/count.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { browserOf } from '../support/dashboard.ts'
import { openEventStream, type OpenStream } from '../support/eventStream.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { makeToken, publish, view } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { newPlace, type Place } from '../support/place.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'

const NONE = new Uint8Array()
const VIDEO = { kind: 'video', codec: 'av1', width: 1280, height: 720, config: NONE } as const

let place: Place
let nodes: [RunningApp, RunningApp]
let stream: OpenStream
beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  const secrets = { sealingKey: SEALING_KEY }
  const flags = { storage: { url: place.url }, secrets, rtmp: { enabled: false } }
  nodes = [await runApp({ flags, engine: new ScriptedEngine() }), await runApp({ flags, engine: new ScriptedEngine() })]
})
afterAll(async () => {
  stream?.close()
  for (const node of nodes) await node.close()
  await place.remove()
})

it('a node lists the streams of another node with what that node measures, and its event stream follows them', async () => {
  const [there, here] = nodes
  const { ctx } = there.app
  const { cookie } = await browserOf(here)
  stream = await openEventStream(`${here.base}/dashboard/api/events`, { cookie })
  expect((await stream.next('reset')).data.streams).toEqual([])
  const at = { ctx, accountId: there.accountId }
  const { token } = await makeToken(there, 'publish', { label: 'Crew' })
  const { session } = await publish(at, { presented: token })
  const started = await stream.next('streamStarted', { streamName: 'show' })
  expect(started.data).toMatchObject({ node: ctx.sessions.node, tokenLabel: 'Crew', protocol: 'whip' })
  noteTracks(ctx, session.id, [VIDEO])
  await view(at, { protocol: 'hls' })
  // A megabit a second by the clock of the node, reported as an engine does.
  const startMs = ctx.clock.monotonic()
  const send = () =>
    countBytes(ctx, session.id, { bytesIn: Math.round((ctx.clock.monotonic() - startMs) * 125), bytesOut: 0 })
  await until(async () => {
    send()
    const [entry] = (await here.call('GET', '/api/streams/live')).json.data
    return entry.width === 1280 && entry.viewers === 1 && entry.bitrateIn > 0
  })
  const [entry] = (await here.call('GET', '/api/streams/live')).json.data
  expect(entry).toMatchObject({ videoCodec: 'av1', viewersByProtocol: { whep: 0, hls: 1 }, mostViewers: 1 })
  expect(entry.bitrateIn).toBeGreaterThan(500_000)
  expect(entry.bitrateIn).toBeLessThan(2_000_000)
  await stream.next('streamChanged', { width: 1280 })
  await stream.next('figures', { viewers: 1 })
  await closeSession(ctx, session.id, 'left')
  await stream.next('streamEnded', { streamName: 'show' })
  expect((await here.call('GET', '/api/streams/live')).json.data).toEqual([])
})
