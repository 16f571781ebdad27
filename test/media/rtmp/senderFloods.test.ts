import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { SenderEnd, SenderMove } from '../../../src/media/publishing.ts'
import { amfObject } from '../../../src/media/rtmp/amf0.ts'
import {
  commandMessage,
  controlMessage,
  EVENT,
  type Message,
  MESSAGE,
  userControl,
  writeMessage,
} from '../../../src/media/rtmp/messages.ts'
import { RtmpSender } from '../../../src/media/rtmp/sender.ts'
import { strictLog } from '../../support/log.ts'
import { until } from '../../support/until.ts'
import { pausedForGood } from './client.ts'
import { listenOnly } from './publications.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const many = (count: number, message: Message): Buffer => Buffer.concat(Array(count).fill(writeMessage(message)))
const PING = userControl(EVENT.pingRequest, 1)

/** A sender that a server has accepted, and the server's end of the connection. */
async function sending() {
  const served = Promise.withResolvers<Socket>()
  const started = amfObject({ level: 'status', code: 'NetStream.Publish.Start' })
  const answers = [
    commandMessage(0, '_result', 1, null, null),
    commandMessage(0, '_result', 4, null, 7),
    commandMessage(7, 'onStatus', 0, null, started),
  ]
  const port = await listenOnly((server) => {
    server.write(Buffer.concat([Buffer.from([3]), Buffer.alloc(3072), ...answers.map((one) => writeMessage(one))]))
    served.resolve(server)
  }, closing)
  const socket = connect(port, '127.0.0.1')
  closing.push(() => socket.destroy())
  await once(socket, 'connect')
  const ready = Promise.withResolvers<void>()
  const ends: (SenderEnd | SenderMove)[] = []
  const sender = new RtmpSender({
    socket,
    clock: systemClock,
    log: strictLog,
    random: systemRandom,
    app: 'app',
    url: `rtmp://127.0.0.1:${port}/app`,
    key: 'key',
    ready: () => ready.resolve(),
    accepted: () => undefined,
    ended: (how) => void ends.push(how),
  })
  await ready.promise
  return { sender, socket, ends, server: await served.promise }
}

test('no more is read of a target that floods with messages until the next tick', async () => {
  const { sender, socket, ends, server } = await sending()
  server.resume()
  server.write(many(10_001, PING))
  await pausedForGood(socket)
  sender.tick(systemClock.monotonic())
  expect([socket.isPaused(), ends]).toEqual([false, []])
})

test('a message of a target in chunks of a byte is read over many turns', async () => {
  const { socket, ends, server } = await sending()
  server.resume()
  const [size, large] = [controlMessage(MESSAGE.setChunkSize, 1), controlMessage(99, 0)]
  server.write(writeMessage(size))
  const inBytes = writeMessage({ ...large, payload: Buffer.alloc(60_000) }, { chunkBytes: 1 })
  for (let messages = 0; messages < 7; messages++) server.write(inBytes)
  await pausedForGood(socket)
  expect(ends).toEqual([])
})

test('a target that floods with commands is given up', async () => {
  const { ends, server } = await sending()
  server.write(many(65, commandMessage(0, 'onBWDone', 0, null)))
  expect(await until(() => ends[0])).toMatchObject({ kind: 'lost', message: 'The target sends too many commands' })
})

test('a target that pings without reading the answers has few of them waiting', async () => {
  const { sender, server } = await sending()
  server.pause()
  // More than the buffers of two sockets have room for.
  for (let batch = 0; batch < 66; batch++) {
    server.write(many(9000, PING))
    await until(() => {
      sender.tick(systemClock.monotonic())
      return server.writableLength === 0
    })
    expect(sender.waitingBytes).toBeLessThan(100_000)
  }
})
