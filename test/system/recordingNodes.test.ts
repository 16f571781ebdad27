import { afterAll, beforeAll, expect, test } from 'vitest'
import { encoded } from '../media/ffmpeg/frames.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { broadcast } from '../support/broadcast.ts'
import { newPlace, type Place } from '../support/place.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { until } from '../support/until.ts'

let place: Place
let nodes: [RunningApp, RunningApp]
beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  const flags = { storage: { url: place.url }, secrets: { sealingKey: SEALING_KEY } }
  nodes = [await runApp({ flags }), await runApp({ flags })]
})
afterAll(async () => {
  for (const node of nodes) await node.close()
  await place.remove()
})

test('a recording begins and ends at the node of the broadcast, whichever node is asked', async () => {
  const [there, here] = nodes
  const media = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, bframes: 2, size: '320x180' })
  const live = await broadcast(there, media, { streamName: 'far', speed: 4 })
  const turn = async (record: boolean) => (await here.call('POST', '/api/streams/far/record', { record })).status
  const onAir = async () => (await here.call('GET', '/api/streams/live')).json.data as { recorded: boolean }[]
  const states = async () =>
    (await here.call('GET', '/api/recordings')).json.data.map(({ state }: { state: string }) => state) as string[]
  expect(await onAir()).toMatchObject([{ streamName: 'far', recorded: false }])
  expect(await turn(true)).toBe(200)
  await until(async () => (await onAir())[0]?.recorded)
  expect(await states()).toEqual(['recording'])
  await live.player.plays(1)
  expect(await turn(false)).toBe(200)
  await until(async () => (await onAir())[0]?.recorded === false)
  await until(async () => (await states())[0] === 'completed')
  expect(await onAir()).toHaveLength(1)
  await live.end()
  await until(async () => (await turn(true)) === 404)
})
