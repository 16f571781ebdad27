import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { SegmentMemory, SPLICED_MIN_BYTES } from '../../src/base/segmentMemory.ts'
import { loadSplice, type Splice, type Watch } from '../../src/base/splice.ts'
import { openSplice } from '../../src/edge/http/hls/spliceProof.ts'
import { collectGarbage, dial, fakeSplice, segmentOf } from '../support/splice.ts'
import { until } from '../support/until.ts'

const native = loadSplice()

/** More than the buffers of a connection whose client does not read. */
const LARGE = 16 * 1024 * 1024

describe.runIf(native !== null)('the addon', () => {
  const splice = native as Splice
  const descriptors = (): number => readdirSync('/proc/self/fd').length

  /** The descriptor of a connected socket that does not block, and its other end. */
  const connection = async (): Promise<{ fd: number; socket: Socket; peer: Socket }> => {
    const server = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const accepted = once(server, 'connection') as Promise<[Socket & { _handle: { fd: number } }]>
    const peer = await dial((server.address() as AddressInfo).port)
    const [socket] = await accepted
    onTestFinished(() => void socket.destroy())
    return { fd: socket._handle.fd, socket, peer }
  }

  it('joins parts of all sizes', () => {
    const parts = [Buffer.alloc(0), randomBytes(1), randomBytes(4096), Buffer.alloc(0), randomBytes(99_999)]
    expect(splice.join(parts)?.equals(Buffer.concat(parts))).toBe(true)
    expect(splice.join(Array(1024).fill(Buffer.from('a')))?.toString()).toBe('a'.repeat(1024))
  })

  it('sends a head and its segment, and nothing else', async () => {
    const { fd, peer } = await connection()
    const joined = splice.join([Buffer.from('one '), Buffer.from('two')])
    expect(splice.send(fd, 'head ', joined as Buffer)).toBe(12)
    expect(String((await once(peer, 'data'))[0])).toBe('head one two')
  })

  it('sends no memory that is not its own', async () => {
    const { fd } = await connection()
    const { joined } = segmentOf(splice, 100_000)
    expect(splice.send(fd, 'x', Buffer.alloc(100_000))).toBe(-9)
    expect(splice.send(fd, 'x', joined.subarray(0, 10))).toBe(-9)
    expect(splice.send(fd, 'x', Buffer.from(joined.buffer))).toBe(-9)
  })

  it('sends only to open sockets that do not block', async () => {
    const { joined } = segmentOf(splice, 100_000)
    const file = openSync('/dev/null', 'r+')
    expect(splice.send(file, 'x', joined)).toBe(-22)
    closeSync(file)
    expect(splice.send(file, 'x', joined)).toBe(-9)
    const { fd, peer, socket } = await connection()
    peer.resetAndDestroy()
    await until(() => splice.send(fd, 'x', joined) === -32 || socket.destroyed)
  })

  it('needs two descriptors, however many segments there are', async () => {
    const { fd } = await connection()
    const { joined } = segmentOf(splice, LARGE)
    // This socket does not take all, so there is a new pipe.
    while (splice.send(fd, 'x', joined) > 0);
    const other = await connection()
    splice.send(other.fd, 'x', joined)
    const before = descriptors()
    const segments = Array.from({ length: 100 }, () => segmentOf(splice, 40_000).joined)
    splice.send(other.fd, 'x', joined)
    expect([segments.length, descriptors() - before]).toEqual([100, expect.toSatisfy((more: number) => more <= 2)])
  })

  it('gives the memory of segments back', async () => {
    const external = (): number => process.memoryUsage().external
    const hold = (): Buffer[] => Array.from({ length: 20 }, () => segmentOf(splice, 10_000_000).joined)
    let segments: Buffer[] | null = hold()
    expect(segments).toHaveLength(20)
    // What JavaScript does not know of, it does not collect in time. Other files of this process may hold much, too.
    const held = external()
    segments = null
    await until(() => {
      collectGarbage()
      return external() < held - 190_000_000
    })
  })

  it('refuses invalid arguments', async () => {
    const { fd } = await connection()
    const { joined } = segmentOf(splice, 100)
    const wrong: [number, unknown, unknown][] = [
      [-1, 'x', joined],
      [2 ** 31, 'x', joined],
      [fd, 7, joined],
      [fd, '', joined],
      [fd, 'x'.repeat(8193), joined],
      [fd, 'x', 'joined'],
      [fd, 'x', null],
    ]
    for (const [socket, head, bytes] of wrong)
      expect(() => splice.send(socket, head as string, bytes as Buffer)).toThrow(TypeError)
    const parts: unknown[] = [[], [Buffer.alloc(0)], ['text'], 'text', null, Array(1025).fill(Buffer.from('a'))]
    for (const each of parts) expect(() => splice.join(each as Buffer[])).toThrow(TypeError)
    expect(splice.send(fd, 'x'.repeat(8192), joined)).toBe(8292)
  })

  it('refuses invalid arguments of a watch', async () => {
    const { fd } = await connection()
    const { joined } = segmentOf(splice, 100)
    const watch = splice.watch(() => undefined) ?? expect.fail('this system cannot watch')
    const id = splice.add(watch, fd)
    expect(id).toBe(0)
    const other = {} as Watch
    const none = (): boolean => false
    const ignore = (): void => undefined
    const not = (value: unknown): never => value as never
    const wrong: (() => unknown)[] = [
      () => splice.watch(not('onReady')),
      () => splice.add(other, fd),
      () => splice.add(not(null), fd),
      () => splice.add(watch, -1),
      () => splice.add(watch, 2 ** 31),
      () => splice.arm(watch, 7, true),
      () => splice.arm(watch, id, not('true')),
      () => splice.arm(watch, -1, true),
      () => splice.answer(watch, 7, 1, 'x', joined),
      () => splice.answer(watch, id, 0, 'x', joined),
      () => splice.answer(watch, id, 8193, 'x', joined),
      () => splice.answer(watch, id, 1, '', joined),
      () => splice.answer(watch, id, 1, 'x', Buffer.alloc(0)),
      () => splice.answer(watch, id, 1, 'x', not('joined')),
      () => splice.run(watch, not(null), ignore),
      () => splice.run(watch, none, not(null)),
      () => splice.forget(watch, 7),
      () => splice.unwatch(other),
      () => splice.read(not('text')),
    ]
    for (const call of wrong) expect(call).toThrow(TypeError)
    expect(splice.arm(watch, id, false)).toBe(0)
    // Node reads it now.
    expect(() => splice.answer(watch, id, 1, 'x', joined)).toThrow(TypeError)
    expect(splice.forget(watch, id)).toBe(0)
    expect(() => splice.forget(watch, id)).toThrow(TypeError)
    splice.unwatch(watch)
    expect(() => splice.add(watch, fd)).toThrow(TypeError)
    expect(() => splice.unwatch(watch)).toThrow(TypeError)
  })

  it('watches no file, and no socket twice', async () => {
    const { fd } = await connection()
    const watch = splice.watch(() => undefined) ?? expect.fail('this system cannot watch')
    const file = openSync('/dev/null', 'r')
    expect(splice.add(watch, file)).toBe(-1)
    closeSync(file)
    expect(splice.add(watch, file)).toBe(-9)
    expect(splice.add(watch, fd)).toBeGreaterThanOrEqual(0)
    expect(splice.add(watch, fd)).toBe(-17)
    splice.unwatch(watch)
  })

  it('is used only if it is there and works', async () => {
    expect((await openSplice(splice)).ok).toBe(true)
    expect((await openSplice(null)).ok).toBe(false)
    const others: Partial<Splice>[] = [
      { send: () => -38 },
      { send: (socket, head, bytes) => splice.send(socket, head, bytes) - 1 },
      { send: (socket, head, bytes) => splice.send(socket, head.toLowerCase(), bytes) },
      { join: () => null },
      { join: (parts) => splice.join([...parts].toReversed()) },
      { watch: () => null },
      { add: () => -1 },
      { answer: () => -32 },
      { answer: (watch, id, taken, head, body) => splice.answer(watch, id, taken, head, Buffer.alloc(body.length)) },
      { answer: (watch, id, taken, head, body) => splice.answer(watch, id, taken - 1, head, body) },
    ]
    for (const other of others) expect((await openSplice({ ...splice, ...other })).ok).toBe(false)
  })
})

describe('the memory of segments', () => {
  it('is that of the addon for what is large enough, where there is an addon with memory', () => {
    const calls: number[] = []
    const addon = fakeSplice({
      join: (parts) => {
        calls.push(parts.length)
        return calls.length === 1 ? Buffer.from('of the addon') : null
      },
    })
    const memory = new SegmentMemory()
    const large = [Buffer.alloc(SPLICED_MIN_BYTES, 1), Buffer.from('b')]
    expect([memory.join(large).equals(Buffer.concat(large)), memory.addon]).toEqual([true, null])
    memory.use(addon)
    expect(String(memory.join(large))).toBe('of the addon')
    expect(memory.join(large).equals(Buffer.concat(large))).toBe(true)
    expect(String(memory.join([Buffer.from('a'), Buffer.from('b')]))).toBe('ab')
    expect([calls, memory.addon]).toEqual([[2, 2], addon])
  })
})
