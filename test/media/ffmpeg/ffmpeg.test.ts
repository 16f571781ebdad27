import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import {
  createFfmpeg,
  ffmpegOf,
  type FfmpegJob,
  type FfmpegOptions,
  type FfmpegProcess,
  outputPipe,
} from '../../../src/media/ffmpeg/ffmpeg.ts'
import type { Progress } from '../../../src/media/ffmpeg/progress.ts'
import { silentLog } from '../../support/log.ts'
import { offline } from '../../support/offline.ts'

const ffmpeg = create()

function create(options: Partial<FfmpegOptions> = {}) {
  return createFfmpeg({
    log: silentLog,
    clock: systemClock,
    binary: 'ffmpeg',
    maxChildren: () => 4,
    offline,
    ...options,
  })
}

function run(job: Omit<FfmpegJob, 'name'>, host = ffmpeg): FfmpegProcess {
  const started = host.run({ name: 'test', ...job })
  if (!started.ok) throw new Error(started.error.message)
  return started.value
}

/** Runs until a signal ends it, without input from the test. */
const ENDLESS = ['-re', '-f', 'lavfi', '-i', 'testsrc2=size=64x64:rate=5', '-f', 'null', '-']
const FRAME = ['-f', 'lavfi', '-i', 'testsrc2=size=64x64:rate=25:duration=1', '-f', 'mpegts', 'pipe:1']

/** The live processes of a process group. */
function membersOf(group: number): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const [, state, , pgrp] = statOf(pid)
      return state !== 'Z' && Number(pgrp) === group
    })
}

function statOf(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return ['', ...text.slice(text.lastIndexOf(')') + 2).split(' ')]
  } catch {
    return []
  }
}

test('its output and its progress arrive', async () => {
  const chunks: Buffer[] = []
  const said: Progress[] = []
  const child = run({ args: FRAME, stdout: (chunk) => chunks.push(chunk), onProgress: (p) => said.push(p) })
  expect(await child.exited).toEqual({ code: 0, signal: null, tail: '' })
  expect(Buffer.concat(chunks).length % 188).toBe(0)
  expect(said.at(-1)?.outTimeMs).toBeGreaterThan(0)
  expect(child.progress).toEqual(said.at(-1))
  expect(ffmpeg.running).toBe(0)
})

test('it reads what is written to it, and ends with its input', async () => {
  const video: Buffer[] = []
  await run({ args: FRAME, stdout: (chunk) => video.push(chunk) }).exited
  const child = run({ args: ['-f', 'mpegts', '-i', 'pipe:0', '-f', 'null', '-'], stdin: true })
  for (const chunk of video) expect(child.write(chunk)).toBe(true)
  child.end()
  expect(await child.exited).toMatchObject({ code: 0 })
  expect(child.progress.outTimeMs).toBeGreaterThan(0)
  expect(child.write(Buffer.alloc(1))).toBe(false)
})

test('a process that does not read gets no more bytes than the bound', async () => {
  const child = run({ args: ['-f', 'rawvideo', '-s', '16x16', '-i', 'pipe:0', ...ENDLESS.slice(5)], stdin: true })
  process.kill(child.pid ?? 0, 'SIGSTOP')
  const megabyte = Buffer.alloc(1024 * 1024)
  let taken = 0
  while (taken < 20 && child.write(megabyte)) taken++
  expect(taken).toBeLessThanOrEqual(9)
  expect(taken).toBeGreaterThan(5)
  expect(await child.stop(50)).toMatchObject({ signal: 'SIGKILL' })
})

test('a failure reports the last 4 KiB of its output', async () => {
  const child = run({ args: ['-i', '/nowhere/at/all.mp4', '-f', 'null', '-'] })
  const { code, tail } = await child.exited
  expect(code).not.toBe(0)
  expect(tail).toContain('No such file or directory')
  const talker = run({ args: ['-loglevel', 'debug', ...FRAME.slice(0, -1), '/dev/null', '-y'] })
  expect((await talker.exited).tail.length).toBeLessThanOrEqual(4096)
})

test('one account had all processes, and others none', async () => {
  const host = create()
  const [ours, theirs] = [ffmpegOf(host, 'ours'), ffmpegOf(host, 'theirs')]
  const all = Array.from({ length: 4 }, () => run({ args: ENDLESS }, ours))
  onTestFinished(() => host.stop(0))
  expect(theirs.run({ name: 'test', args: ENDLESS })).toMatchObject({ ok: false, error: { code: 'busy' } })
  await all[0]?.stop(0)
  expect(ours.run({ name: 'test', args: ENDLESS })).toMatchObject({
    ok: false,
    error: { code: 'busy', message: expect.stringContaining('three quarters') },
  })
  run({ args: ENDLESS }, theirs)
  expect(host.running).toBe(4)
})

test('a missing program is a refusal that says what to do', () => {
  expect(create({ binary: 'no-such-program' }).run({ name: 'x', args: [] })).toMatchObject({
    ok: false,
    error: { code: 'missing', message: expect.stringContaining('ffmpeg.path') },
  })
})

test('the number of processes never exceeds the limit', async () => {
  const host = create({ maxChildren: () => 1 })
  const first = run({ args: ENDLESS }, host)
  expect(host.run({ name: 'second', args: ENDLESS })).toMatchObject({ ok: false, error: { code: 'busy' } })
  await first.stop(2000)
  const second = run({ args: ENDLESS }, host)
  await host.stop(2000)
  expect(await second.exited).toBeDefined()
  expect(host.running).toBe(0)
  expect(host.run({ name: 'late', args: ENDLESS })).toMatchObject({ ok: false, error: { code: 'busy' } })
})

test('a process without input finishes its output when it is stopped', async () => {
  const started = Promise.withResolvers<void>()
  const child = run({ args: ENDLESS, onProgress: () => started.resolve() })
  await started.promise
  expect(await child.stop(5000)).toMatchObject({ signal: null })
  await vi.waitFor(() => expect(membersOf(child.pid ?? 0)).toEqual([]), { timeout: 30_000 })
})

test('a process that does not stop is killed together with its guard', async () => {
  const started = Promise.withResolvers<void>()
  const child = run({ args: ENDLESS, onProgress: () => started.resolve() })
  await started.promise
  for (const pid of membersOf(child.pid ?? 0)) if (Number(pid) !== child.pid) process.kill(Number(pid), 'SIGSTOP')
  await child.stop(100)
  await vi.waitFor(() => expect(membersOf(child.pid ?? 0)).toEqual([]), { timeout: 30_000 })
})

test('a script is its whole input, and it still ends when it is stopped', async () => {
  const started = Promise.withResolvers<void>()
  const script = "ffconcat version 1.0\nfile 'nowhere.mp4'\n"
  const args = ['-f', 'concat', '-i', 'pipe:0', '-f', 'null', '-']
  expect((await run({ args, script }).exited).tail).toContain('nowhere.mp4')
  const endless = run({ args: ENDLESS, script: 'not read', onProgress: () => started.resolve() })
  await started.promise
  expect(await endless.stop(5000)).toMatchObject({ signal: null })
})

test('it gets the environment that programs need, and no secret', async () => {
  vi.stubEnv('SLUICE_STORAGE_URL', 'postgres://user:password-of-this-test@db/sluice')
  vi.stubEnv('FFREPORT', 'file=/tmp/report-of-this-test.log')
  const started = [ENDLESS, ['-f', 'h264', '-i', 'pipe:0', '-f', 'null', '-']].map((args, at) =>
    run({ args, stdin: at === 1 }),
  )
  const members = started.flatMap(({ pid }) => membersOf(pid ?? 0))
  expect(members.length).toBeGreaterThanOrEqual(2)
  const given = members.map((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8')).join('')
  expect(given).toContain('PATH=')
  expect(given).not.toContain('of-this-test')
  vi.unstubAllEnvs()
  await Promise.all(started.map((child) => child.stop(2000)))
})

test('a process that is killed from outside is reported as ended', async () => {
  const started = Promise.withResolvers<void>()
  const child = run({ args: ENDLESS, onProgress: () => started.resolve() })
  await started.promise
  const members = membersOf(child.pid ?? 0).filter((pid) => Number(pid) !== child.pid)
  expect(members).toHaveLength(1)
  process.kill(Number(members[0]), 'SIGKILL')
  expect(await child.exited).toMatchObject({ code: 137 })
})

const host = fileURLToPath(new URL('ffmpegHost.ts', import.meta.url))

test.each(['stdin', 'pull'])('kill -9 of the server leaves no ffmpeg behind: %s', async (kind) => {
  const server = spawn(process.execPath, [host, kind], { stdio: ['ignore', 'pipe', 'inherit'] })
  const group = await new Promise<number>((resolve) => {
    server.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString())))
  })
  expect(membersOf(group)).not.toEqual([])
  server.kill('SIGKILL')
  await vi.waitFor(() => expect(membersOf(group)).toEqual([]), { timeout: 30_000 })
})

test.skipIf(process.platform === 'win32')('a server without a free descriptor goes on, and hears why', async () => {
  const limited = ['-c', 'ulimit -n 64 && exec "$0" "$@"', process.execPath, host, 'full']
  const server = spawn('sh', limited, { stdio: ['ignore', 'pipe', 'inherit'] })
  const said = await Promise.race([once(server.stdout, 'data'), once(server, 'exit')])
  expect(String(said[0])).toContain('EMFILE')
  expect(server.exitCode).toBeNull()
  server.kill()
})

/** A port of 127.0.0.1, and how often a program connected to it. It answers nothing. */
async function listener() {
  const seen = { connections: 0 }
  const server = createServer((socket) => {
    seen.connections += 1
    socket.on('error', () => undefined).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { seen, url: `http://127.0.0.1:${port}/` }
}

/** Each way of starting without a network that works on this machine. */
const LAUNCHERS = ['unshare --net', 'unshare --user --map-current-user --net']
  .map((text) => text.split(' '))
  .filter(([launcher = '', ...options]) => spawnSync(launcher, [...options, 'ffmpeg', '-version']).status === 0)

const HTTP_ALLOWED = ['-protocol_whitelist', 'http,tcp']

test('a process without network cannot connect to a port of this host, and one with network can', async () => {
  for (const launcher of LAUNCHERS) {
    const { seen, url } = await listener()
    const host = create({ offline: launcher })
    const args = [...HTTP_ALLOWED, '-i', url, '-f', 'null', '-']
    const { code, tail } = await run({ args }, host).exited
    expect([code === 0, seen.connections]).toEqual([false, 0])
    expect(tail).toContain('Network is unreachable')
    await run({ args, network: true }, host).exited
    expect(seen.connections).toBeGreaterThan(0)
  }
})

test('a snap starts without the launcher, because it needs more rights than a user namespace gives', async () => {
  const snaps = mkdtempSync(join(tmpdir(), 'sluice-snap-'))
  onTestFinished(() => rmSync(snaps, { recursive: true }))
  writeFileSync(join(snaps, 'snap'), '#!/bin/sh\nexec ffmpeg "$@"\n', { mode: 0o755 })
  symlinkSync('snap', join(snaps, 'ffmpeg'))
  const job = { args: FRAME, stdout: () => undefined }
  const refusing = ['false']
  expect(await run(job, create({ binary: join(snaps, 'ffmpeg'), offline: refusing })).exited).toMatchObject({ code: 0 })
  expect(await run(job, create({ offline: refusing })).exited).toMatchObject({ code: 1 })
})

test('where namespaces do not work, a process without network still opens no address', async () => {
  const { seen, url } = await listener()
  const host = create({ offline: [] })
  const { code, tail } = await run({ args: ['-i', url, '-f', 'null', '-'] }, host).exited
  expect([code === 0, seen.connections]).toEqual([false, 0])
  expect(tail).toContain('not on whitelist')
  expect(await run({ args: FRAME, stdout: () => undefined }, host).exited).toMatchObject({ code: 0 })
})

const FED = ['-f', 'h264', '-i', 'pipe:0', '-f', 'null', '-']
const folder = tmpdir()
const KINDS: readonly (readonly [name: string, job: Omit<FfmpegJob, 'name'>])[] = [
  ['fed', { args: FED, stdin: true }],
  ['fed in the background', { args: FED, stdin: true, background: true }],
  ['guarded', { args: ENDLESS }],
  ['guarded in the background', { args: ENDLESS, background: true }],
  ['with a script', { args: ENDLESS, script: 'not read' }],
]

test.each(KINDS)('without network a process is stopped and killed as with it: %s', async (_, job) => {
  const own = readlinkSync('/proc/self/ns/net')
  for (const launcher of LAUNCHERS) {
    const host = create({ offline: launcher })
    for (const graceMs of [5000, 0]) {
      const child = run({ ...job, cwd: folder }, host)
      const encoder = await vi.waitFor(() => encoderOf(child.pid ?? 0), { timeout: 30_000 })
      expect(readlinkSync(`/proc/${encoder}/ns/net`)).not.toBe(own)
      expect(readlinkSync(`/proc/${encoder}/cwd`)).toBe(folder)
      // The tests may run with less priority themselves; there is none below 19.
      expect(Number(statOf(encoder)[17])).toBe(Math.min(19, getPriority() + (job.background ? 10 : 0)))
      await child.stop(graceMs)
      await vi.waitFor(() => expect(membersOf(child.pid ?? 0)).toEqual([]), { timeout: 30_000 })
    }
  }
})

/** The ffmpeg of a process group. Its launcher has become it. */
function encoderOf(group: number): string {
  const members = membersOf(group)
  const found = members.find((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'ffmpeg\n')
  if (found === undefined) throw new Error(`no ffmpeg in ${members.join()}`)
  return found
}

test('without network all pipes reach the process', async () => {
  for (const launcher of LAUNCHERS) {
    const sizes = [0, 0]
    const take = (index: number) => (chunk: Buffer) => void (sizes[index] = (sizes[index] ?? 0) + chunk.length)
    const outputs = [0, 1].map(take)
    const raw = (index: number): string[] => ['-map', '0:v', '-f', 'rawvideo', '-pix_fmt', 'gray', outputPipe(index)]
    const args = [...FRAME.slice(0, 4), ...raw(0), ...raw(1)]
    const child = run({ args, outputs }, create({ offline: launcher }))
    expect(await child.exited).toEqual({ code: 0, signal: null, tail: '' })
    expect(sizes).toEqual([25 * 64 * 64, 25 * 64 * 64])
    expect(child.progress.outTimeMs).toBeGreaterThan(0)
  }
})

test.each([
  ['its output', (fails: () => void): Partial<FfmpegJob> => ({ stdout: fails })],
  ['an output beside it', (fails: () => void): Partial<FfmpegJob> => ({ outputs: [fails] })],
])('a fault in what takes %s ends it alone, and is logged', async (_, job) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-endless-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const binary = join(folder, 'ffmpeg')
  const output = outputPipe(0).replace('pipe:', '')
  const script = `#!/bin/sh\nwhile :; do echo media; echo media >&${output}; done 2>/dev/null\n`
  writeFileSync(binary, script, { mode: 0o755 })
  const errors = new Set<string>()
  const log = { ...silentLog, error: (_fields: object, text: string) => void errors.add(text) }
  const fails = (): never => {
    throw new Error('a fault of ours')
  }
  const child = run({ args: [], ...job(fails) }, create({ binary, log }))
  onTestFinished(async () => void (await child.stop(0)))
  expect(await child.exited).toMatchObject({ signal: 'SIGKILL' })
  expect([...errors]).toEqual(['the output of an ffmpeg could not be taken, so it is killed'])
})
