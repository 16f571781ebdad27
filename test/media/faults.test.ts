import { afterEach, expect, test } from 'vitest'
import { createLogger } from '../../src/base/log.ts'
import { Hub } from '../../src/media/hub.ts'
import type { FrameSink } from '../../src/media/frame.ts'
import { until } from '../support/until.ts'
import type { Publication } from '../support/publication.ts'
import { RtmpClient } from './rtmp/client.ts'
import { avcConfig, videoFrame } from './rtmp/media.ts'
import { listenFor } from './rtmp/publications.ts'
import { SrtCaller } from './srt/caller.ts'
import { listenForSrt } from './srt/publications.ts'
import { adts, BOTH, TsMuxer } from './mpegts/muxer.ts'

const raise = (): never => {
  throw new Error('a fault of ours')
}

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A log, and the errors in it. */
function logged() {
  const errors: string[] = []
  const destination = { write: (line: string) => void errors.push((JSON.parse(line) as { message: string }).message) }
  return { errors, log: createLogger({ level: 'error', format: 'json', destination }) }
}

/** The publications of two who publish: the media of the first cannot be taken, by a fault of ours. */
async function halfBroken<T>(
  publications: readonly Publication<T>[],
): Promise<readonly [Publication<T>, Publication<T>]> {
  const [broken, other] = await until(() => (publications.length === 2 ? publications : null))
  if (broken === undefined || other === undefined) throw new Error('there are two')
  broken.frame = raise
  return [broken, other]
}

test('a fault in the media of an RTMP publisher ends its connection alone, and is logged', async () => {
  const { errors, log } = logged()
  const place = await listenFor({}, undefined, log)
  closing.push(() => place.stop())
  const clients: RtmpClient[] = []
  for (const name of ['broken', 'other']) {
    const client = await RtmpClient.open(place.port)
    clients.push(client)
    await client.publish('v2/pub', name)
  }
  const [broken, other] = await halfBroken(place.publications)
  for (const client of clients) client.send(avcConfig(), videoFrame(0))
  await until(() => broken.reasons.length > 0 && other.frames.length === 1)
  expect([broken.reasons, broken.ends, other.reasons]).toEqual([['lost'], 1, []])
  expect(errors).toEqual(['an RTMP connection failed'])
})

test('a fault in the media of an SRT publisher ends its connection alone, and is logged', async () => {
  const { errors, log } = logged()
  const listener = await listenForSrt({ log })
  closing.push(() => listener.stop())
  const callers: SrtCaller[] = []
  for (const streamId of ['broken', 'other']) {
    const caller = await SrtCaller.call(listener.port, { streamId })
    closing.push(() => caller.close())
    callers.push(caller)
  }
  const [broken, other] = await halfBroken(listener.publications)
  const ts = new TsMuxer()
  const media = [0, 1, 2].map((at) =>
    Buffer.concat([at === 0 ? ts.tables(BOTH.slice(1)) : Buffer.alloc(0), ts.audio(adts(50, at), at * 1800)]),
  )
  for (const caller of callers) caller.send(...media)
  await until(() => broken.reasons.length > 0 && other.frames.length === 3)
  expect([broken.reasons, broken.ends, other.reasons]).toEqual([['lost'], 1, []])
  expect(errors).toEqual(['an SRT connection failed'])
})

test('what gets the media of a feed and fails ended the broadcast and all else that gets it', () => {
  const { errors, log } = logged()
  const hub = new Hub({ log })
  const got: string[] = []
  const sink = (name: string, frame = () => void got.push(`${name} frame`)): FrameSink => ({
    tracks: () => undefined,
    frame,
    end: () => void got.push(`${name} end`),
  })
  for (const one of [sink('first'), sink('broken', raise), sink('last')]) hub.subscribe(one)
  hub.tracks([{ kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: new Uint8Array(0) }])
  const frame = { kind: 'audio', key: true, timeUs: 0, decodeTimeUs: 0, data: new Uint8Array(1) } as const
  hub.frame(frame)
  hub.frame(frame)
  expect(got).toEqual(['first frame', 'broken end', 'last frame', 'first frame', 'last frame'])
  expect(errors).toEqual(['what gets the media of a feed has failed, and gets no more of it'])
})
