import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { endChildren, pushTo, workingIn } from '../support/channels.ts'
import { until } from '../support/until.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { playbackFolder } from '../support/playbackFolder.ts'
import { FastClock } from '../support/fastClock.ts'

const clock = new FastClock()
let live: ChannelsClient
beforeAll(async () => {
  live = await runChannels({ clock })
})
afterEach(endChildren)
afterAll(async () => {
  await live.close()
  clock.close()
})

interface Stage {
  key: string
  channelId: string
  mainId: string
  spareId: string
  distributionId: string
}

/** A channel whose two engines encode the same source; the last created one is preferred. */
async function newStage(): Promise<Stage> {
  const ladder = await live.made('POST', '/abr', {
    name: 'tiny',
    video: [{ width: 160, height: 90, bitrate: 100_000 }],
  })
  const quality = { abrLadderId: ladder.id }
  const engines = [
    { name: 'Spare', priority: 5, quality },
    { name: 'Main', priority: 0, quality },
  ]
  const channel = await live.made('POST', '/channels', {
    name: 'Stage',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines }],
    distributions: [{ name: 'Web' }],
  })
  const idOf = (wanted: string): string => channel.engines.find(({ name }: { name: string }) => name === wanted).id
  return {
    key: channel.ingests[0].streamKey,
    channelId: channel.id,
    mainId: idOf('Main'),
    spareId: idOf('Spare'),
    distributionId: channel.distributions[0].id,
  }
}

const linesOf = (playlist: string): string[] =>
  playlist.split('\n').filter((line) => line !== '' && !line.startsWith('#'))

/** The engines in the master playlist, in its order. */
async function listed({ distributionId }: Stage): Promise<string[]> {
  const answer = await fetch(`${live.running.base}/v2/distributions/${distributionId}/hls/main.m3u8`)
  return answer.status === 200 ? linesOf(await answer.text()).map((uri) => /(\w+)-0\/media/.exec(uri)?.[1] ?? '') : []
}

async function lists(stage: Stage, ...engineIds: string[]): Promise<void> {
  await until(async () => String(await listed(stage)) === String(engineIds), `a playlist of ${engineIds.length}`)
}

/** The media playlist of an engine that is listed, for one viewer. */
const mediaOf = async ({ distributionId }: Stage, engineId: string): Promise<string> =>
  `${live.running.base}${await playbackFolder(live.running.base, distributionId, engineId)}/media.m3u8`

/** Waits until the newest segment of a playlist can be fetched and another one follows it. */
async function goesOn(media: string): Promise<void> {
  const newest = async () => linesOf(await (await fetch(media)).text()).at(-1) ?? ''
  const before = await newest()
  expect((await fetch(new URL(before, media))).status).toBe(200)
  await until(async () => (await newest()) !== before, 'another segment')
}

const engineOf = (id: string) => live.made('GET', `/engines/${id}`)

/** Kills each process of the engine as soon as it starts, until the returned function is called. */
function keepKilling(engineId: string): { victims: Set<number>; stop(): Promise<void> } {
  const [victims, over] = [new Set<number>(), new AbortController()]
  const killing = until(async () => {
    for (const pid of await workingIn(join(live.running.dataDir, 'channels', engineId))) {
      process.kill(pid, 'SIGKILL')
      victims.add(pid)
    }
    return over.signal.aborted
  }, 'the end of killing')
  return {
    victims,
    stop: async () => {
      over.abort()
      await killing
    },
  }
}

test('viewers continue on the other engine when the preferred one fails repeatedly or is stopped, and return to it', async () => {
  const stage = await newStage()
  const { channelId, mainId, spareId, key } = stage
  await live.v2('POST', `/channels/${channelId}/start`)
  pushTo(`rtmp://127.0.0.1:${live.running.rtmpPort}/live/${key}`, clock.speed)
  await lists(stage, mainId, spareId)
  const [main, spare] = [await mediaOf(stage, mainId), await mediaOf(stage, spareId)]
  expect((await fetch(main)).status).toBe(200)

  const killer = keepKilling(mainId)
  await lists(stage, spareId)
  // Its last playlist is still on disk; a player that got it would stall.
  await until(async () => (await fetch(main)).status === 404, 'the end of what does not go on')
  await goesOn(spare)
  await until(() => killer.victims.size >= 2, 'another try')
  await until(async () => (await engineOf(mainId)).status === 'error', 'error')
  expect((await engineOf(mainId)).statusMessage).toMatch(/^ffmpeg was killed \(SIGKILL\)/)
  expect((await live.made('GET', `/channels/${channelId}`)).status).toBe('playing')
  await killer.stop()
  await lists(stage, mainId, spareId)
  expect(await (await fetch(main)).text()).toContain('#EXT-X-DISCONTINUITY')
  await goesOn(main)

  expect((await live.v2('POST', `/engines/${mainId}/stop`)).status).toBe(204)
  await lists(stage, spareId)
  expect((await fetch(main)).status).toBe(404)
  await goesOn(spare)
  await live.v2('POST', `/engines/${mainId}/start`)
  await lists(stage, mainId, spareId)
  await live.v2('POST', `/channels/${channelId}/stop`)
  await until(async () => (await listed(stage)).length === 0, 'the end')
})
