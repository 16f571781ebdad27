import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { leave } from '../../src/media/leaving.ts'
import { until } from '../support/until.ts'

const clock = new ManualClock()

/** Two ends of a connection. */
async function connected(): Promise<{ ours: Socket; theirs: Socket }> {
  const served = Promise.withResolvers<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => served.resolve(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const ours = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const theirs = await served.promise
  for (const socket of [ours, theirs]) socket.on('error', () => undefined)
  onTestFinished(() => {
    for (const socket of [ours, theirs]) socket.destroy()
    server.close()
  })
  return { ours, theirs }
}

/** Lets this many looks pass. */
async function look(times: number, each = (): unknown => undefined): Promise<void> {
  for (let at = 0; at < times; at++) {
    await each()
    clock.advance(1000)
    await turn()
  }
}

test('what was written arrives at a target that reads it after a pause of this process, and answers meanwhile', async () => {
  const { ours, theirs } = await connected()
  theirs.pause()
  ours.resume()
  ours.write(Buffer.alloc(8_000_000))
  const left = leave(ours, clock)
  clock.advance(60_000)
  await turn()
  theirs.write('an answer')
  let got = 0
  theirs.on('data', (data: Buffer) => (got += data.length))
  theirs.on('end', () => theirs.end())
  theirs.resume()
  await until(() => theirs.readableEnded || theirs.destroyed)
  expect(got).toBe(8_000_000)
  await until(() => ours.destroyed)
  clock.advance(1000)
  await left
})

test('a target that says nothing for five looks is left, and one that says something for thirty', async () => {
  const silent = await connected()
  void leave(silent.ours, clock)
  await look(4)
  expect(silent.ours.destroyed).toBe(false)
  await look(1)
  expect(silent.ours.destroyed).toBe(true)
  const talking = await connected()
  talking.ours.resume()
  void leave(talking.ours, clock)
  const say = async (): Promise<void> => {
    const before = talking.ours.bytesRead
    talking.theirs.write('.')
    await until(() => talking.ours.bytesRead > before)
  }
  await look(29, say)
  expect(talking.ours.destroyed).toBe(false)
  await look(1, say)
  expect(talking.ours.destroyed).toBe(true)
})
