import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { hostKeyOf } from '../../src/config/dataDirectory.ts'
import { endChildren, pushTo, workingIn } from '../support/channels.ts'
import { until } from '../support/until.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { newPlace, type Place } from '../support/place.ts'
import { listedFolder } from '../support/playbackFolder.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'

let place: Place
let nodes: [ChannelsClient, ChannelsClient]
/** The second node. */
let isOpen = true

beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  nodes = [await node(), await node()]
})
afterEach(endChildren)
afterAll(async () => {
  await nodes[0].close()
  if (isOpen) await nodes[1].close()
  await place.remove()
})

function node(): Promise<ChannelsClient> {
  const secrets = { sealingKey: SEALING_KEY }
  return runChannels({ flags: { storage: { url: place.url }, secrets } })
}

interface Stage {
  key: string
  ingestId: string
  channelId: string
  engineIds: string[]
  distributionId: string
}

/** A channel with two engines of one ingest. */
async function newStage(): Promise<Stage> {
  const [one] = nodes
  const ladder = { name: 'tiny', video: [{ width: 96, height: 54, bitrate: 100_000 }] }
  const { id: abrLadderId } = await one.made('POST', '/abr', ladder)
  const engines = ['Main', 'Spare'].map((name) => ({ name, quality: { abrLadderId } }))
  const channel = await one.made('POST', '/channels', {
    name: 'Stage',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines }],
    distributions: [{ name: 'Web' }],
  })
  return {
    key: channel.ingests[0].streamKey,
    ingestId: channel.ingests[0].id,
    channelId: channel.id,
    engineIds: channel.engines.map(({ id }: { id: string }) => id),
    distributionId: channel.distributions[0].id,
  }
}

const push = ({ running }: ChannelsClient, { key }: Stage): ChildProcess =>
  pushTo(`rtmp://127.0.0.1:${running.rtmpPort}/live/${key}`)

async function start({ channelId }: Stage): Promise<void> {
  expect((await nodes[0].v2('POST', `/channels/${channelId}/start`)).status).toBeLessThan(300)
}

/** The indexes of the nodes that have the engines of a stage. */
async function holders({ engineIds }: Stage): Promise<number[]> {
  const { read } = nodes[0].running.app.ctx.store
  const keys = nodes.map(({ running }) => `${hostKeyOf(running.dataDir)}#`)
  const states = await Promise.all(engineIds.map((id) => read.engineStates.get(id)))
  return states.map((state) => keys.findIndex((key) => state?.node?.startsWith(key)))
}

const processesAt = async ({ running }: ChannelsClient, { engineIds }: Stage): Promise<number[]> =>
  (await Promise.all(engineIds.map((id) => workingIn(join(running.dataDir, 'channels', id))))).flat()

/** The highest number of a segment that a node lists for each engine; null: it does not play there. */
function newestAt({ running }: ChannelsClient, { engineIds, distributionId }: Stage): Promise<(number | null)[]> {
  const newest = async (engineId: string) => {
    const folder = await listedFolder(running.base, distributionId, engineId)
    if (folder === undefined) return null
    const answer = await fetch(`${running.base}${folder}/media.m3u8`)
    const numbers = [...(await answer.text()).matchAll(/^s(\d+)\.m4s$/gm)].map(([, n]) => Number(n))
    return answer.status === 200 ? Math.max(...numbers) : null
  }
  return Promise.all(engineIds.map(newest))
}

/** Waits until both engines play at a node, and only there; returns their newest segments. */
async function playsAt(at: number, stage: Stage): Promise<number[]> {
  const [here, other] = [nodes[at]!, nodes[1 - at]!]
  let newest: (number | null)[] = []
  await until(async () => {
    newest = await newestAt(here, stage)
    return newest.every((n) => n !== null && n > 0)
  }, `segments at node ${at}`)
  expect(await holders(stage)).toEqual([at, at])
  expect(await processesAt(here, stage)).toHaveLength(2)
  expect([await processesAt(other, stage), await newestAt(other, stage)]).toEqual([[], [null, null]])
  return newest.map(Number)
}

const engineEvents = async ({ engineIds }: Stage): Promise<string[]> => {
  const { app, accountId } = nodes[0].running
  const events = await app.ctx.store.read.channelEvents.page({ accountId, descending: false, limit: 1000 })
  return events.filter(({ data }) => engineIds.some((id) => data.includes(id))).map(({ type }) => type)
}

test('a publisher may push to any node: the engines go there, in their run, and back again with the publisher', async () => {
  const stage = await newStage()
  await start(stage)
  await until(async () => (await holders(stage)).every((at) => at !== -1), 'nodes of the engines')
  // At most one of two engines can be where the publisher comes first.
  const [first = 0] = await holders(stage)
  const second = 1 - first
  const there = push(nodes[second]!, stage)
  const before = await playsAt(second, stage)

  there.kill('SIGKILL')
  push(nodes[first]!, stage)
  const after = await playsAt(first, stage)
  for (const [n, number] of after.entries()) expect(number).toBeGreaterThan(before[n] ?? 0)

  const { read } = nodes[0].running.app.ctx.store
  for (const engineId of stage.engineIds) {
    const runs = await read.runs.page({ engineId, limit: 10 })
    expect(runs.map(({ endedAtMs }) => endedAtMs)).toEqual([null])
  }
  const events = await engineEvents(stage)
  expect(events.filter((type) => /stop|error/.test(type))).toEqual([])
  expect(events.filter((type) => type === 'engine.deploying').length).toBeGreaterThanOrEqual(4)
})

test('of two publishers at two nodes the newest is taken, and the other one is told so', async () => {
  const stage = await newStage()
  const older = push(nodes[0], stage)
  await start(stage)
  await playsAt(0, stage)
  let told = ''
  older.stderr?.on('data', (data: Buffer) => (told += data.toString()))
  push(nodes[1], stage)
  await playsAt(1, stage)
  await until(() => older.exitCode !== null || older.signalCode !== null, 'the end of the older publisher')
  expect(told).toContain('Another publisher')
  const states = await Promise.all(
    nodes.map(async (one) => (await one.v2('GET', `/monitoring/ingests/${stage.ingestId}`)).json?.data?.status),
  )
  expect(states).toEqual([undefined, 'connected'])
})

test('a node that stops leaves the engines of its publishers to the others at once', async () => {
  const stage = await newStage()
  push(nodes[1], stage)
  await start(stage)
  await playsAt(1, stage)
  await nodes[1].close()
  isOpen = false
  const claims = await nodes[0].running.app.ctx.store.read.ingestClaims.of([stage.ingestId])
  expect(claims.get(stage.ingestId)?.remainingMs).toBeLessThan(0)
  await until(async () => String(await holders(stage)) === '0,0', 'the engines at the other node')
  push(nodes[0], stage)
  await until(async () => (await newestAt(nodes[0], stage)).every((n) => n !== null), 'segments')
})
