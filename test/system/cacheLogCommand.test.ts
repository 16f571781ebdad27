import { once } from 'node:events'
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LineSplitter } from '../../src/cli/cacheLog/lines.ts'
import type { CacheLogBatch } from '../../src/core/usage/cacheLog.ts'
import { run } from '../cli/fakeHost.ts'

/** A node that counts as Sluice does. */
class FakeNode {
  readonly positions = new Map<string, number>()
  readonly bytes = new Map<string, number>()
  /** What the next requests get: after or without counting. */
  readonly faults: ('before' | 'after' | number)[] = []
  readonly #server: Server

  constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response)).listen(0, '127.0.0.1')
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const batch = JSON.parse(await text(request)) as CacheLogBatch
    const fault = this.faults.shift()
    if (fault === 'before') return void response.destroy()
    if (typeof fault === 'number') return void response.writeHead(fault).end('Not today')
    const position = this.positions.get(batch.log) ?? 0
    const isCounted = batch.from >= position
    if (isCounted) this.#count(batch)
    if (fault === 'after') response.destroy()
    else response.end(JSON.stringify({ isCounted, position: this.positions.get(batch.log) ?? 0 }))
  }

  #count({ log, to, sent }: CacheLogBatch): void {
    this.positions.set(log, to)
    for (const { ticket, bytes } of sent) this.bytes.set(ticket, (this.bytes.get(ticket) ?? 0) + bytes)
  }

  async url(): Promise<string> {
    if (!this.#server.listening) await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

let node: FakeNode
let dir: string
let file: string
beforeEach(() => {
  node = new FakeNode()
  dir = mkdtempSync(join(tmpdir(), 'sluice-cache-log-'))
  file = join(dir, 'hls-bytes.log')
})
afterEach(() => {
  node.close()
  rmSync(dir, { recursive: true })
})

let time = 0
const line = (ticket: string, bytes: number, status = 200): string =>
  `${(time += 1)}.5 ${status} ${bytes} /hls/~${ticket}/stream/v0/p7.m4s?_HLS_part=1\n`

async function shipped(...flags: string[]) {
  const argv = ['cache-log', '--file', file, '--url', await node.url(), '--once', ...flags]
  return run(argv, { stopRequested: () => new Promise(() => {}) })
}

/** Follows the file until `stop`. */
async function following() {
  const { promise, resolve } = Promise.withResolvers<string>()
  const argv = ['cache-log', '--file', file, '--url', await node.url(), '--seconds', '1']
  const ran = run(argv, { stopRequested: () => promise })
  return { ran, stop: () => (resolve('SIGTERM'), ran) }
}

const counted = (): Record<string, number> => Object.fromEntries(node.bytes)

test('sums lines by ticket, and leaves out refusals, checks and other paths', async () => {
  const others = ['1 200 9 /hls/a/b/index.m3u8?auth=x\n', '1 204 9 /hls/~a/stream/check\n', line('a', 9, 401)]
  writeFileSync(file, [line('a', 10), ...others, line('b', 5), line('a', 3, 206)].join(''))
  expect(await shipped()).toEqual({ status: 0, stdout: '', stderr: '' })
  expect(counted()).toEqual({ a: 13, b: 5 })
})

test('counts no line twice, whether the answer is lost, the command starts again or the log is renamed', async () => {
  writeFileSync(file, line('a', 10) + line('a', 1))
  node.faults.push('before', 503)
  await shipped()
  appendFileSync(file, line('a', 100))
  node.faults.push(429, 'after')
  await shipped()
  await shipped()
  renameSync(file, `${file}.1`)
  file = `${file}.1`
  appendFileSync(file, line('a', 1000))
  await shipped()
  expect(counted()).toEqual({ a: 1111 })
})

test('follows a log over a rotation, and reports a line when it is whole', async () => {
  writeFileSync(file, line('a', 1))
  const { stop } = await following()
  await vi.waitFor(() => expect(counted()).toEqual({ a: 1 }), 30_000)
  const half = line('a', 10)
  appendFileSync(file, half.slice(0, 9))
  renameSync(file, join(dir, 'old'))
  writeFileSync(file, line('b', 1))
  appendFileSync(join(dir, 'old'), half.slice(9))
  await vi.waitFor(() => expect(counted()).toEqual({ a: 11, b: 1 }), 30_000)
  expect(await stop()).toMatchObject({ status: 0, stderr: '' })
})

test('a line of 10 MB, a cut off path and absurd numbers count for nothing, and are reported without their text', async () => {
  const wrong = [
    `1 200 5 /hls/~${'x'.repeat(10_000_000)}/stream/v0/p7.m4s\n`,
    '1 200 5 /hls/~secretticket/str\n',
    '1 200 999999999 /hls/~secretticket/stream/v0/p7.m4s\n',
    '1 200 -5 /hls/~secretticket/stream/v0/p7.m4s\n',
    'forged /hls/~secretticket/stream/v0/p7.m4s\n',
  ]
  writeFileSync(file, line('a', 1) + wrong.join('') + line('a', 2))
  const { status, stderr } = await shipped()
  expect([status, stderr]).toEqual([
    0,
    expect.stringMatching(/^sluice: the log has lines that cannot be read[^\n]*\n$/),
  ])
  expect(stderr).not.toContain('secretticket')
  expect(counted()).toEqual({ a: 3 })
})

test('splits chunks of any size at the same positions, and holds little of a long line', () => {
  const log = Buffer.from(`one\n${'x'.repeat(100_000)}\n\ntwo\nrest`)
  const whole = Array.from(new LineSplitter(7).split(log))
  expect(whole).toEqual([
    { text: 'one', end: 11 },
    { text: null, end: 100_012 },
    { text: '', end: 100_013 },
    { text: 'two', end: 100_017 },
  ])
  const splitter = new LineSplitter(7)
  const bytes = Array.from(log, (_, at) => Array.from(splitter.split(log.subarray(at, at + 1))))
  expect(bytes.flat()).toEqual(whole)
})

test('more tickets than one batch holds go in several', async () => {
  writeFileSync(file, Array.from({ length: 2500 }, (_, n) => line(`t${n}`, n)).join(''))
  await shipped()
  expect(node.bytes.size).toBe(2500)
  expect(node.bytes.get('t2499')).toBe(2499)
})

test('ends with the reason when the node refuses, and when another process reports the same log', async () => {
  writeFileSync(file, line('a', 1))
  node.faults.push(403)
  expect(await shipped()).toMatchObject({ status: 1, stderr: expect.stringContaining('403 Not today') })
  const { ran } = await following()
  await vi.waitFor(() => expect(counted()).toEqual({ a: 1 }), 30_000)
  for (const log of node.positions.keys()) node.positions.set(log, 10_000)
  appendFileSync(file, line('a', 1))
  expect(await ran).toMatchObject({ status: 1, stderr: expect.stringContaining('another process') })
  expect(counted()).toEqual({ a: 1 })
})

test('says why a log cannot be opened and why no node answers, each once, and goes on when it can', async () => {
  const said: string[] = []
  const { promise, resolve } = Promise.withResolvers<string>()
  const argv = ['cache-log', '--file', file, '--url', await node.url(), '--seconds', '1']
  const ran = run(argv, { stopRequested: () => promise, stderr: (text) => void said.push(text) })
  const waiting = `sluice: ${file} does not exist, and is awaited\n`
  await vi.waitFor(() => expect(said).toEqual([waiting]), 30_000)
  node.faults.push('before')
  writeFileSync(file, line('a', 1))
  await vi.waitFor(() => expect(counted()).toEqual({ a: 1 }), 30_000)
  resolve('SIGTERM')
  expect((await ran).status).toBe(0)
  const away = 'sluice: the node does not answer, trying again: other side closed\n'
  expect(said).toEqual([waiting, away, 'sluice: the node answers again\n'])
})
