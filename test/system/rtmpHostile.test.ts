import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { amfObject } from '../../src/media/rtmp/amf0.ts'
import { startRtmp } from '../../src/media/rtmp/listener.ts'
import {
  commandMessage,
  EVENT,
  type Message,
  MESSAGE,
  userControl,
  writeMessage,
} from '../../src/media/rtmp/messages.ts'
import { connectMessage, handshake, opening, publishMessage, RtmpClient } from '../media/rtmp/client.ts'
import { audioFrame, avcConfig, message, videoFrame } from '../media/rtmp/media.ts'
import { LIMITS, listenFor, type Place, type RtmpPublication } from '../media/rtmp/publications.ts'
import { until } from '../support/until.ts'
import type { RtmpLimits } from '../../src/media/rtmp/types.ts'
import { silentLog } from '../support/log.ts'
import { Publication } from '../support/publication.ts'

let place: Place
// The bystander sends nothing while hostile clients do, which takes longer on a busy machine than a publisher may be silent.
beforeEach(async () => {
  place = await listenFor({ idleMs: 3_600_000 })
})
afterEach(() => place.stop())

const OPENING = opening('v2/pub', 'x')
const COMMANDS_AT = 3073
const LOCAL = { host: '127.0.0.1', port: 0, log: silentLog, random: systemRandom, limits: LIMITS }

/** A publisher that runs all the time, which hostile clients must not disturb. */
async function bystander(): Promise<{ check(): Promise<void> }> {
  const client = await RtmpClient.open(place.port)
  await client.publish('v2/pub', 'bystander')
  client.send(avcConfig())
  const publication = place.publications.find(({ request }) => request.name === 'bystander')
  return {
    async check() {
      const before = publication?.frames.length ?? 0
      client.send(videoFrame(before * 40))
      await until(() => publication?.frames.length === before + 1)
      client.socket.destroy()
      await until(() => place.connections() === 0)
      expect(place.publications.every(({ ends }) => ends === 1)).toBe(true)
    },
  }
}

/** Sends bytes, closes its side, and waits for the end. */
async function say(bytes: Buffer): Promise<RtmpClient> {
  const client = await RtmpClient.open(place.port)
  client.socket.end(bytes)
  await client.closed
  return client
}

async function inBatches<T>(all: readonly T[], act: (one: T) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < all.length; at += 50) await Promise.all(all.slice(at, at + 50).map(act))
}

describe('garbage', () => {
  test('at every byte of the commands, and throughout the handshake, disturbs no other client and leaves nothing', async () => {
    const other = await bystander()
    const sampled = Array.from(OPENING.keys()).filter((at) => at >= COMMANDS_AT || at < 16 || at % 64 === 0)
    await inBatches(sampled, async (at) => {
      const broken = Buffer.from(OPENING)
      broken[at] = (broken[at] ?? 0) ^ (1 + (at % 255))
      await say(broken)
    })
    await other.check()
  })

  test('from every byte on, too', async () => {
    const other = await bystander()
    const commands = Array.from(OPENING.keys()).filter((at) => at >= COMMANDS_AT && at % 3 === 0)
    await inBatches(commands, (at) => say(Buffer.concat([OPENING.subarray(0, at), systemRandom.bytes(2000)])))
    await other.check()
  })
})

test('a client that breaks off at any byte leaves nothing behind', async () => {
  const other = await bystander()
  await inBatches(
    Array.from(OPENING.keys()).filter((at) => at % 40 === 0 || at > COMMANDS_AT),
    (at) => say(OPENING.subarray(0, at)),
  )
  await other.check()
})

describe('is refused with a reason', () => {
  const refused = async (...bytes: readonly Buffer[]) => {
    const client = await RtmpClient.open(place.port)
    client.socket.write(Buffer.concat([handshake(), writeMessage(connectMessage('v2/pub')), ...bytes]))
    const { code, description } = await client.status()
    await client.closed
    return `${code}: ${description}`
  }
  const after = async (...messages: readonly Message[]) => {
    const client = await RtmpClient.open(place.port)
    await client.publish('v2/pub', 'x')
    client.send(...messages)
    const { code, description } = await client.status('NetStream.Failed')
    await client.closed
    await until(() => place.publications[0]?.ends === 1)
    expect(place.publications[0]?.reason).toBe('invalid')
    return `${code}: ${description}`
  }

  test('media before the permission to publish', async () => {
    expect(await refused(writeMessage(audioFrame(0)))).toBe(
      'NetStream.Failed: Media came before the permission to publish',
    )
  })

  test('a long message before the permission', async () => {
    const long = message(MESSAGE.data, 0, Buffer.alloc(70_000))
    expect(await refused(writeMessage(long))).toMatch(/a message of 70000 bytes; 65536 is the most/)
  })

  test('a message beyond the limit after it', async () => {
    const client = await RtmpClient.open(place.port)
    await client.publish('v2/pub', 'x')
    const head = writeMessage(message(MESSAGE.video, 0, Buffer.alloc(9_000_000))).subarray(0, 1000)
    client.socket.write(head)
    expect((await client.status('NetConnection.Call.Failed')).description).toMatch(/9000000 bytes; 8388608 is the most/)
    await client.closed
  })

  test('publish without connect', async () => {
    const client = await RtmpClient.open(place.port)
    client.socket.write(Buffer.concat([handshake(), writeMessage(publishMessage('x'))]))
    expect((await client.status()).description).toBe('publish came before connect')
  })

  test('invalid AMF0, and an endless series of commands', async () => {
    expect(await refused(writeMessage(message(MESSAGE.command, 0, [7, 0, 0])))).toMatch(/A command cannot be read/)
    const many = Array.from({ length: 100 }, (_, at) => writeMessage(commandMessage(0, 'releaseStream', at, null, 'x')))
    expect(await refused(...many)).toBe('NetStream.Failed: Too many commands')
  })

  test('an unsupported codec, by its name', async () => {
    expect(await after(message(MESSAGE.video, 0, [0x90, ...Buffer.from('vvc1')]))).toBe(
      'NetStream.Failed: Video codec vvc1 is not supported; send H.264, HEVC, AV1, VP9 or VP8',
    )
  })

  test('a second publication on one connection', async () => {
    expect(await after(publishMessage('y'))).toBe('NetStream.Failed: This connection publishes already')
  })

  test('an unknown command, but the connection continues', async () => {
    const client = await RtmpClient.open(place.port)
    client.socket.write(Buffer.concat([handshake(), writeMessage(connectMessage('v2/pub'))]))
    client.send(commandMessage(0, 'getStreamLength', 9, null, 'x'))
    expect((await client.status()).description).toBe('No command getStreamLength')
    client.send(publishMessage('x'))
    await client.status('NetStream.Publish.Start')
    client.socket.destroy()
  })
})

describe('a connection', () => {
  test('gets answers to pings, and acknowledgements of its bytes', async () => {
    const client = await RtmpClient.open(place.port)
    await client.publish('v2/pub', 'x')
    client.send(userControl(EVENT.pingRequest, 77), message(MESSAGE.windowSize, 0, [0, 1, 0, 0]), avcConfig())
    for (let at = 0; at < 10; at++) client.send(videoFrame(at, 20_000))
    await until(() => client.received.some(({ type }) => type === MESSAGE.acknowledgement))
    const pong = client.received.find(
      ({ type, payload }) => type === MESSAGE.userControl && payload.readUInt16BE(0) === EVENT.pingResponse,
    )
    expect(pong?.payload.readUInt32BE(2)).toBe(77)
    client.socket.destroy()
  })

  test('that has not asked to publish gives way at the limit; one that publishes does not', async () => {
    await place.stop()
    place = await listenFor({ maxConnections: 3 })
    const publisher = await RtmpClient.open(place.port)
    await publisher.publish('v2/pub', 'x')
    const idle = [await RtmpClient.open(place.port), await RtmpClient.open(place.port)]
    await until(() => place.connections() === 3)
    const fresh = await RtmpClient.open(place.port)
    await fresh.publish('v2/pub', 'y')
    await idle[0]?.closed
    const third = await RtmpClient.open(place.port)
    await third.publish('v2/pub', 'z')
    await idle[1]?.closed
    const surplus = await RtmpClient.open(place.port)
    await surplus.closed
    expect(place.publications.map(({ ends }) => ends)).toEqual([0, 0, 0])
    for (const client of [publisher, fresh, third]) client.socket.destroy()
  })
})

describe('an address that opens connection after connection', () => {
  test('ended those of publishers on long ways, which were the oldest; it ends its own', async () => {
    await place.stop()
    place = await listenFor({ maxConnections: 4, maxPendingPerAddress: 2 })
    const distant = await RtmpClient.open(place.port, '127.0.0.2')
    const flood: RtmpClient[] = []
    for (let count = 0; count < 6; count++) flood.push(await RtmpClient.open(place.port))
    await Promise.all(flood.slice(0, 4).map(({ closed }) => closed))
    await distant.publish('v2/pub', 'x')
    expect(place.publications.map(({ ends }) => ends)).toEqual([0])
    for (const { socket } of [distant, ...flood]) socket.destroy()
  })
})

describe('a refused publisher that stays connected', () => {
  test('gives way to later ones, so that refusals cannot take all connections', async () => {
    await place.stop()
    place = await listenFor({ maxConnections: 3 }, ({ name }) => (name === 'good' ? null : 'Unauthorized'))
    const refused = await Promise.all(
      [0, 1, 2].map(async () => {
        const socket = connect({ port: place.port, host: '127.0.0.1', allowHalfOpen: true })
        socket.write(opening('v2/pub', 'bad'))
        socket.on('data', () => undefined)
        await once(socket, 'end')
        return socket
      }),
    )
    expect(place.connections()).toBe(3)
    const publisher = await RtmpClient.open(place.port)
    await publisher.publish('v2/pub', 'good')
    for (const socket of [...refused, publisher.socket]) socket.destroy()
  })
})

describe('a slow decision', () => {
  test('holds back all media, and the end of a publisher that gave up meanwhile is still reported', async () => {
    const decision = Promise.withResolvers<void>()
    const publications: RtmpPublication[] = []
    const listener = await startRtmp({
      ...LOCAL,
      clock: new ManualClock(),
      publish: async (request) => {
        const publication = new Publication(request)
        publications.push(publication)
        await decision.promise
        return publication.answer()
      },
    })
    const patient = await RtmpClient.open(listener.port)
    patient.socket.write(Buffer.concat([OPENING, ...[avcConfig(), videoFrame(0)].map((one) => writeMessage(one))]))
    const hasty = await RtmpClient.open(listener.port)
    hasty.socket.write(OPENING)
    await until(() => publications.length === 2)
    expect(patient.statuses()).toEqual([])
    const [first, second] = publications
    await second?.request.cut('no more')
    expect(second?.ends).toBe(0)
    decision.resolve()
    await until(() => second?.ends === 1 && first?.frames.length === 1)
    expect([second?.reason, second?.frames]).toEqual(['cut', []])
    await first?.request.cut('no more')
    expect(first?.ends).toBe(1)
    expect((await patient.status('NetStream.Publish.Denied')).description).toBe('no more')
    await until(() => listener.connections() === 0)
    await listener.stop()
  })
})

describe('a slow client', () => {
  const slow = async (limits: Partial<RtmpLimits> = {}) => {
    const clock = new ManualClock()
    const publications: RtmpPublication[] = []
    const listener = await startRtmp({
      ...LOCAL,
      limits: { ...LIMITS, ...limits },
      clock,
      publish: (request) => {
        const publication = new Publication(request)
        publications.push(publication)
        return Promise.resolve(publication.answer())
      },
    })
    const client = await RtmpClient.open(listener.port)
    await until(() => listener.connections() === 1)
    const seconds = async (count: number, act: (second: number) => void) => {
      for (let second = 0; second < count; second++) {
        act(second)
        clock.advance(1000)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    return { clock, publications, listener, client, seconds }
  }

  test('in the handshake is cut after 10 seconds, although a byte comes every second', async () => {
    const { listener, client, seconds } = await slow()
    await seconds(9, (at) => client.socket.write(OPENING.subarray(at, at + 1)))
    expect(listener.connections()).toBe(1)
    await seconds(2, (at) => client.socket.write(OPENING.subarray(at + 9, at + 10)))
    await client.closed
    await listener.stop()
  })

  test('in commands is not cut: a long broadcast may send some in each minute', async () => {
    const { publications, listener, client, seconds } = await slow({ idleMs: 3_600_000 })
    await client.publish('v2/pub', 'x')
    client.send(avcConfig())
    for (let minute = 1; minute <= 4; minute++) {
      for (let at = 0; at < 30; at++) client.send(commandMessage(0, 'FCPublish', 3, null, 'x'))
      client.send(videoFrame(minute * 60_000))
      await until(() => publications[0]?.frames.length === minute)
      await seconds(60, () => undefined)
    }
    expect(publications[0]?.ends).toBe(0)
    await listener.stop()
  })

  test('that sends requests and never reads is cut before much output is queued', async () => {
    // It may be silent for ever, so that only the queue can end it.
    const { clock, publications, listener, client } = await slow({ idleMs: Number.MAX_SAFE_INTEGER })
    await client.publish('v2/pub', 'x')
    client.socket.pause()
    const pings = Buffer.concat(Array.from({ length: 2000 }, () => writeMessage(userControl(EVENT.pingRequest, 1))))
    while (publications[0]?.ends === 0) {
      if (client.socket.writableLength === 0) client.socket.write(pings)
      clock.advance(1000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(publications[0]?.reason).toBe('invalid')
    client.socket.destroy()
    await listener.stop()
  })

  test('that sends tens of thousands of messages at once keeps no other waiting: most of them are read later', async () => {
    const { clock, publications, listener, client } = await slow()
    await client.publish('v2/pub', 'x')
    const sent = 30_000
    client.send(avcConfig())
    client.socket.write(Buffer.concat(Array.from({ length: sent }, (_, at) => writeMessage(videoFrame(at)))))
    const frames = (): number => publications[0]?.frames.length ?? 0
    await until(() => frames() > 9000)
    // By then all would have been read.
    const other = await RtmpClient.open(listener.port)
    await other.publish('v2/pub', 'other')
    expect(frames()).toBeLessThan(sent / 2)
    await until(() => {
      clock.advance(1000)
      return frames() === sent
    })
    expect(publications[0]?.ends).toBe(0)
    await listener.stop()
  })

  test('that sends a message in chunks of a byte is read on a second later', async () => {
    const { clock, publications, listener, client } = await slow({ idleMs: Number.MAX_SAFE_INTEGER }) // While a busy machine reads.
    await client.publish('v2/pub', 'x')
    client.send(avcConfig())
    client.send(message(MESSAGE.setChunkSize, 0, [0, 0, 0, 1]))
    client.socket.write(writeMessage(videoFrame(40, 1_500_000), { chunkBytes: 1 }))
    const frames = (): number => publications[0]?.frames.length ?? 0
    for (let others = 0; others < 3; others++) await (await RtmpClient.open(listener.port)).publish('v2/pub', 'other')
    expect(frames()).toBe(0)
    await until(() => {
      clock.advance(1000)
      return frames() === 1
    })
    await listener.stop()
  })

  test('in publishing is cut 10 seconds after its last frame, although it pings', async () => {
    const { publications, listener, client, seconds } = await slow()
    await client.publish('v2/pub', 'x')
    client.send(avcConfig(), videoFrame(0))
    await until(() => publications[0]?.frames.length === 1)
    await seconds(9, () => client.send(userControl(EVENT.pingRequest, 1)))
    expect(publications[0]?.ends).toBe(0)
    await seconds(2, () => client.send(userControl(EVENT.pingRequest, 1)))
    await client.closed
    await until(() => publications[0]?.ends === 1)
    expect(publications[0]?.reason).toBe('lost')
    await listener.stop()
  })
})

test('a listener that stops ends every connection, and can be stopped twice', async () => {
  const client = await RtmpClient.open(place.port)
  await client.publish('v2/pub', 'x')
  await Promise.all([place.stop(), place.stop()])
  await client.closed
  expect(place.publications[0]).toMatchObject({ ends: 1, reason: 'stopped' })
  await place.stop()
})

test('metadata is accepted, whatever it contains', async () => {
  const client = await RtmpClient.open(place.port)
  await client.publish('v2/pub', 'x')
  const { payload } = commandMessage(1, '@setDataFrame', 0, 'onMetaData', amfObject({ width: 1e300, encoder: null }))
  client.send(message(MESSAGE.data, 0, payload), message(MESSAGE.data, 0, [0xff]), avcConfig(), videoFrame(0))
  await until(() => place.publications[0]?.frames.length === 1)
  client.socket.destroy()
})
