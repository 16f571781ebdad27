import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, expect, test, vi } from 'vitest'
import { loadAddon } from '../../../src/base/addon.ts'
import { proveRuns, type RunAddon, runsFrom } from '../../../src/media/srt/datagramRuns.ts'
import { until } from '../../support/until.ts'

const built = loadAddon('udp') as RunAddon | null

const closing: Socket[] = []
afterEach(() => {
  for (const socket of closing.splice(0)) socket.close()
})

interface Pair {
  readonly from: Socket
  readonly to: Socket
  readonly came: Buffer[]
}

async function pair(): Promise<Pair> {
  const [from, to] = [createSocket('udp4'), createSocket({ type: 'udp4', recvBufferSize: 1 << 20 })]
  closing.push(from, to)
  const came: Buffer[] = []
  to.on('message', (datagram) => came.push(datagram))
  to.bind(0, '127.0.0.1')
  await once(to, 'listening')
  from.connect(to.address().port, '127.0.0.1')
  await once(from, 'connect')
  return { from, to, came }
}

const runOf = (bytes: number): Buffer => Buffer.from(Array.from({ length: bytes }, (_, at) => at % 253))

function cut(run: Buffer, bytes: number): Buffer[] {
  return Array.from({ length: Math.ceil(run.length / bytes) }, (_, at) => run.subarray(at * bytes, (at + 1) * bytes))
}

const RUN = runOf(60 * 1332 + 5)

test.skipIf(process.platform !== 'linux')(
  'the addon carries runs, in one call, to where the socket leads',
  async () => {
    const addon = await proveRuns(built)
    const { from, came } = await pair()
    const single = vi.spyOn(from, 'send')
    runsFrom(from, addon)(RUN, 1332)
    await until(() => came.length === 61)
    expect(came).toEqual(cut(RUN, 1332))
    expect(single).not.toHaveBeenCalled()
  },
)

test('what the kernel does not take of a run leaves by the socket of Node', async () => {
  const { from, came } = await pair()
  // The kernel takes two datagrams, then its buffer is full.
  const addon: RunAddon = { sendRun: (fd, run) => built?.sendRun(fd, run.subarray(0, 2 * 1332), 1332) ?? 0 }
  runsFrom(from, addon)(RUN, 1332)
  await until(() => came.length === 61)
  expect(came).toEqual(cut(RUN, 1332))
})

test('without the addon, each datagram leaves on its own', async () => {
  const { from, came } = await pair()
  runsFrom(from, null)(RUN, 1332)
  await until(() => came.length === 61)
  expect(came).toEqual(cut(RUN, 1332))
})

test('nothing passes what waits in the socket of Node', async () => {
  const { from, came } = await pair()
  vi.spyOn(from, 'getSendQueueSize').mockReturnValue(1)
  const sendRun = vi.fn(() => 0)
  runsFrom(from, { sendRun })(RUN, 1332)
  await until(() => came.length === 61)
  expect(sendRun).not.toHaveBeenCalled()
})

test.each([
  ['is not built', null],
  ['was built before it could', {}],
  ['sends nothing', { sendRun: () => 0 }],
  [
    'sends something else',
    { sendRun: (fd: number, run: Buffer) => (built?.sendRun(fd, Buffer.alloc(9), 9), run.length) },
  ],
  [
    'throws',
    {
      sendRun: (): number => {
        throw new TypeError('wrong arguments')
      },
    },
  ],
])('an addon that %s is not used', async (_, addon) => {
  expect(await proveRuns(addon)).toBeNull()
})

test('a socket that is closed meanwhile is not written to', async () => {
  const { from } = await pair()
  const sendRun = vi.fn(() => 0)
  const send = runsFrom(from, { sendRun })
  closing.splice(closing.indexOf(from), 1)
  from.close()
  expect(() => send(RUN, 1332)).toThrow()
  expect(sendRun).not.toHaveBeenCalled()
})
