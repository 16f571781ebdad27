import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ownPort } from '../support/ownPort.ts'
import { findProgram, type Program } from './programs.ts'

const LIBRARIES = [
  'libmariadb3',
  'libhiredis0.14',
  ...['extra', 'openssl', 'pthreads'].map((of) => `libevent-${of}-2.1-7`),
]
const coturn = findProgram('turnserver', ['coturn', ...LIBRARIES])
if (coturn === null) console.warn('coturn is left out: it is not installed, and its Debian package cannot be had')

describe.skipIf(coturn === null)('coturn with the published file', () => {
  const { path, env }: Program = coturn ?? { path: '', env: {} }
  const folder = mkdtempSync(join(tmpdir(), 'sluice-turn-'))
  let server: ChildProcess
  let port: number
  let log = ''

  beforeAll(async () => {
    port = await ownPort()
    const published = readFileSync(new URL('../../packaging/coturn/turnserver.conf', import.meta.url), 'utf8')
    const here = published
      .replaceAll(/203\.0\.113\.[78]/g, '127.0.0.1')
      .replace('listening-port=3478', `listening-port=${port}`)
    const own = `allow-loopback-peers\npidfile=${folder}/pid\nuserdb=${folder}/db\n`
    writeFileSync(join(folder, 'turnserver.conf'), here + own)
    server = spawn(path, ['-c', join(folder, 'turnserver.conf')], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [server.stdout, server.stderr])
      stream?.on('data', (chunk: Buffer) => (log += chunk.toString()))
    await vi.waitFor(() => expect(log).toContain('DB connection success'), 30_000)
  })
  afterAll(async () => {
    server.kill('SIGKILL')
    await once(server, 'exit')
    rmSync(folder, { recursive: true })
  })

  /** What the client of coturn says after an allocation. @param peer to relay to; none: to another allocation */
  function relay(password: string, peer: string[] = []): string {
    const client = join(dirname(path), 'turnutils_uclient')
    const args = ['-n', '5', ...peer, '-u', 'sluice', '-w', password, '-p', String(port), '127.0.0.1']
    const { stdout, stderr } = spawnSync(client, args, { env, encoding: 'utf8', timeout: 60_000 })
    return stdout + stderr
  }

  test('understands every line of it', () => {
    expect(log).not.toMatch(/bad configuration|unknown|unrecognized|cannot find/i)
  })

  test('relays for the user of webrtc.iceServers, and for no other password', () => {
    expect(relay('CHANGE-ME', ['-y'])).toContain('Total lost packets 0 ')
    expect(relay('wrong', ['-y'])).toContain('Cannot complete Allocation')
  })

  test('relays to no other host than Sluice', () => {
    expect(relay('CHANGE-ME', ['-e', '192.0.2.1'])).toContain('403')
  })
})
