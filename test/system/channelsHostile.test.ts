import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { systemRandom } from '../../src/base/random.ts'
import { writeMessage } from '../../src/media/rtmp/messages.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { aacConfig, audioFrame, avcConfig, videoFrame } from '../media/rtmp/media.ts'
import { endChildren, pushTo, workingIn } from '../support/channels.ts'
import { until } from '../support/until.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'

let live: ChannelsClient
beforeAll(async () => {
  live = await runChannels()
})
afterEach(endChildren)
afterAll(() => live.close())

interface Stage {
  client: ChannelsClient
  channelId: string
  engineId: string
  key: string
}

/** A channel that waits for its publisher. */
async function waiting(client: ChannelsClient): Promise<Stage> {
  const ladder = await client.made('POST', '/abr', { name: 'tiny', video: [{ width: 160, height: 90, bitrate: 1e5 }] })
  const engines = [{ name: 'Main', quality: { abrLadderId: ladder.id } }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines }]
  const channel = await client.made('POST', '/channels', { name: 'Stage', ingests })
  const [{ id: engineId }, { streamKey: key }] = [channel.engines[0], channel.ingests[0]]
  const stage = { client, channelId: channel.id, engineId, key }
  await client.v2('POST', `/channels/${channel.id}/start`)
  await reaches(stage, 'waiting')
  return stage
}

const engineOf = ({ client, engineId }: Stage) => client.made('GET', `/engines/${engineId}`)

async function reaches(stage: Stage, status: string): Promise<void> {
  let last = ''
  await until(async () => (last = (await engineOf(stage)).status) === status, status).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${last}`)
  })
}

const folderOf = ({ client, engineId }: Stage): string => join(client.running.dataDir, 'channels', engineId)

/** Stops the channel; it had one run from its start to now, and nothing of it remains. */
async function endsWell(stage: Stage): Promise<void> {
  const { client, channelId } = stage
  await client.v2('POST', `/channels/${channelId}/stop`)
  await reaches(stage, 'stopped')
  const { data } = (await client.v2('GET', `/channels/${channelId}/runs`)).json
  expect(data).toMatchObject([{ startType: 'api', stopType: 'api', end: expect.any(String) }])
  expect(await workingIn(folderOf(stage))).toEqual([])
  // An engine in error stops at once, and its files are removed right after.
  await until(() => !existsSync(folderOf(stage)), 'the end of its folder')
}

const plays = async (stage: Stage): Promise<void> => {
  pushTo(`rtmp://127.0.0.1:${stage.client.running.rtmpPort}/live/${stage.key}`)
  await reaches(stage, 'playing')
}

async function openPublisher({ client, key }: Stage): Promise<RtmpClient> {
  const publisher = await RtmpClient.open(client.running.rtmpPort ?? 0)
  await publisher.publish('live', key)
  return publisher
}

describe('a channel whose publisher', () => {
  test('sends garbage, breaks off inside a packet and reconnects 50 times plays valid media afterwards', async () => {
    const stage = await waiting(live)
    const garbling = await openPublisher(stage)
    garbling.socket.write(Buffer.concat([writeMessage(avcConfig()), systemRandom.bytes(20_000)]))
    await garbling.closed
    await reaches(stage, 'waiting')

    // A message of type video without a frame in it.
    const blind = await openPublisher(stage)
    blind.send(avcConfig(), aacConfig())
    for (let at = 0; at < 50; at += 1) blind.send(videoFrame(at * 40, 1000), audioFrame(at * 40))
    await until(async () => !['waiting', 'playing'].includes((await engineOf(stage)).status), 'something of its media')
    const packet = writeMessage(videoFrame(2000, 5000))
    blind.socket.write(packet.subarray(0, packet.length / 2))
    blind.socket.resetAndDestroy()

    let most = 0
    for (let time = 0; time < 50; time += 1) {
      const publisher = await openPublisher(stage)
      publisher.send(avcConfig(), videoFrame(0), videoFrame(40))
      // Half of them disconnect; the others are replaced.
      if (time % 2 === 0) publisher.socket.destroy()
      if (time % 10 === 0) most = Math.max(most, (await workingIn(folderOf(stage))).length)
    }
    expect(most).toBeLessThanOrEqual(1)
    await plays(stage)
    await endsWell(stage)
  })
})

describe('a channel without ffmpeg', () => {
  test('is in error when its publisher connects, gives the reason, retries later, and can be stopped', async () => {
    const bare = await runChannels({ flags: { ffmpeg: { path: '/nowhere/ffmpeg' } } })
    try {
      const stage = await waiting(bare)
      const publisher = await openPublisher(stage)
      publisher.send(avcConfig(), videoFrame(0))
      await reaches(stage, 'error')
      expect((await engineOf(stage)).statusMessage).toMatch(/^There is no program \/nowhere\/ffmpeg/)
      const failures = async () => {
        const states = await bare.running.app.ctx.store.read.engineStates.busy()
        return states.find(({ engineId }) => engineId === stage.engineId)?.failures ?? 0
      }
      await until(async () => (await failures()) >= 2, 'another try')
      await reaches(stage, 'error')
      publisher.socket.destroy()
      await endsWell(stage)
    } finally {
      await bare.close()
    }
  })
})
