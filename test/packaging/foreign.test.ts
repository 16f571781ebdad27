import { execFile, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { debianArchitecture, GLIBC, run as runHere } from '../../scripts/packages.mjs'
import type { FromRelay, RelaySettings, ToRelay } from '../../src/media/relay/processes/messages.ts'
import { emulatedNode } from './emulator.ts'
import { missingForForeign } from './machine.ts'
import { ownPorts, settingsOf, statusOf } from './media.ts'
import { architectureOf, minor, newestGlibc, programsIn } from './programs.ts'

const run = promisify(execFile)
const { arch, deb } = inject('packages').foreign
const ADDONS = ['fanout', 'memory', 'splice', 'udp'].map((name) => `${name}-linux-${arch}.node`)
/** Of one step, which takes ten times as long as on its own processor: seconds, and two minutes on a busy machine. */
const EMULATED_MS = 300_000

const folder = mkdtempSync(join(tmpdir(), 'sluice-foreign-'))
const app = join(folder, 'root/usr/lib/sluice')
beforeAll(() => void runHere('dpkg-deb', ['--extract', deb, join(folder, 'root')]))
afterAll(() => rmSync(folder, { recursive: true }))

/** The addons are there if a compiler for the other processor is. */
const missing = missingForForeign(arch)

test('the Debian package for another processor has programs of that one, which need no newer C library', () => {
  expect(runHere('dpkg-deb', ['--field', deb, 'Architecture']).trim()).toBe(debianArchitecture(arch))
  const programs = programsIn(app)
  const names = programs.map((path) => basename(path))
  expect(names.sort()).toEqual([...(missing === null ? ADDONS : []), 'node'].sort())
  for (const path of programs) expect(architectureOf(path), path).toBe(arch)
  for (const path of programs) expect(newestGlibc(path), path).toBeLessThanOrEqual(minor(GLIBC))
})

// A machine with arm64 runs its own packages in the other tests, and so does one with x64.
if (missing === null && arch === 'arm64') {
  describe('emulated', { timeout: EMULATED_MS }, () => {
    const node = emulatedNode(join(app, 'node_modules/.bin/node'), folder)
    const sluice = join(app, 'bin/sluice.js')
    const cwd = join(folder, 'work')
    mkdirSync(cwd)
    const env = { PATH: process.env['PATH'] }

    const cli = async (...argv: string[]): Promise<string> => {
      const { stdout } = await run(node, [sluice, ...argv], { cwd, env, timeout: EMULATED_MS })
      return stdout.trim()
    }

    test('it starts', async () => {
      expect(await cli('--version')).toMatch(/^\d+\.\d+\.\d+$/)
    })

    test('a media process uses its addons, which encrypt, decrypt, send and receive as JavaScript does', async () => {
      const child = fork(join(app, 'dist/media/relay/processes/process.js'), [], {
        execPath: node,
        execArgv: [],
        serialization: 'advanced',
        env,
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      const settings: RelaySettings = {
        host: '127.0.0.1',
        port: 0,
        publicAddresses: [],
        maxBitrate: 1e6,
        maxSessions: 1,
        publisherSilentMs: 1000,
      }
      child.send({ kind: 'start', settings } satisfies ToRelay)
      const [ready] = (await once(child, 'message')) as [FromRelay]
      expect(ready).toMatchObject({ kind: 'ready', note: null })
      for (const name of ['fanout', 'udp']) expect(mapped(child.pid)).toContain(`${name}-linux-${arch}.node`)
      child.disconnect()
      expect(await once(child, 'exit')).toEqual([0, null])
    })

    test('it serves on SQLite with its addons, and ends on SIGTERM', async () => {
      expect(await cli('token', 'create', '--label', 'studio', '--stream', 'show')).toMatch(/^[0-9a-f]{64}$/)
      const ports = await ownPorts()
      const args = [sluice, 'serve', '--host', '127.0.0.1']
      const settings = { ...env, ...settingsOf(ports) }
      const server = spawn(node, args, { cwd, env: settings, stdio: ['ignore', 'pipe', 'inherit'] })
      onTestFinished(() => void server.kill('SIGKILL'))
      let log = ''
      server.stdout.setEncoding('utf8').on('data', (text: string) => (log += text))
      await expect.poll(() => log, { timeout: EMULATED_MS }).toContain('"message":"ready"')
      for (const path of ['/healthz', '/readyz'])
        await expect.poll(() => statusOf(ports, path), { timeout: EMULATED_MS }).toBe(200)
      for (const name of ['splice', 'memory'])
        await expect.poll(() => mapped(server.pid)).toContain(`${name}-linux-${arch}.node`)
      server.kill('SIGTERM')
      expect(await once(server, 'close'), log).toEqual([0, null])
      expect(log).not.toMatch(/Segments are copied|in JavaScript/)
      expect(log).toContain('"message":"stopped"')
    })
  })
}

/** The names of the files that a process has in its memory as code or data. */
const mapped = (pid = 0): string[] =>
  readFileSync(`/proc/${pid}/maps`, 'utf8')
    .split('\n')
    .map((line) => basename(line))
