import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { builtProgram } from '../support/program.ts'
import { command, endServers, newDirectory, serve, type Served } from './cliProcess.ts'

const data = newDirectory()
const file = join(data, 'config.yaml')
let server: Served

const write = (text: string): void => writeFileSync(file, text)
const reload = async (...flags: string[]) => {
  const ran = await command(['reload', '--data', data, ...flags])
  return { ...ran, lines: ran.stdout.trim().split('\n') }
}

const errorLines = () =>
  server
    .log()
    .split('\n')
    .filter((line) => line.includes('"level":"error"'))

beforeAll(async () => {
  write('log: { level: info }\n')
  server = await serve(['--data', data, '--config', file])
})
afterAll(endServers)

test('sluice reload --check says what would change, and sluice reload does it', async () => {
  write('log: { level: debug }\nserver: { demo: false }\n')
  const checked = await reload('--check')
  expect(checked.status).toBe(0)
  expect(checked.lines).toEqual([
    'would apply log.level: "info" is "debug" now',
    'needs a restart: server.demo: true is false now',
  ])
  expect(server.log()).not.toContain('the configuration was reloaded')
  expect((await reload()).lines[0]).toBe('applied log.level: "info" is "debug" now')
  await vi.waitFor(() => expect(server.log()).toContain('the configuration was reloaded'), 30_000)
  expect((await reload()).lines).toEqual(['needs a restart: server.demo: true is false now'])
})

test('a wrong file changes nothing, and the answer and one error line name key and place', async () => {
  write('log:\n  level: loud\n')
  const ran = await reload()
  expect([ran.status, ran.lines]).toEqual([
    1,
    ['nothing was changed:', `  ${file}:2: log.level: "loud" is not known (allowed: debug, info, warn, error)`],
  ])
  const errors = await vi.waitFor(() => {
    const found = errorLines()
    expect(found).not.toEqual([])
    return found
  }, 30_000)
  expect(errors).toHaveLength(1)
  expect(errors[0]).toContain('log.level')
})

test.skipIf(process.platform === 'win32')('SIGHUP reloads, and the server goes on', async () => {
  write('log: { level: warn }\n')
  server.signal('SIGHUP')
  const checked = await vi.waitFor(async () => {
    const ran = await reload('--check', '--json')
    expect(JSON.parse(ran.stdout)).toMatchObject([{ ok: true, applied: [], needRestart: [] }])
    return ran
  }, 30_000)
  expect(checked.status).toBe(0)
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
})

test('without a server on this data directory sluice reload says so', async () => {
  const ran = await command(['reload', '--data', newDirectory()])
  expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining('no server runs on')])
})

/** Runs the server on a terminal of its own, closes the terminal, and prints how the server ended. */
const ON_A_TERMINAL = `
import os, pty, select, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen = b''
while b'ready' not in seen:
    try:
        seen += os.read(terminal, 4096)
    except OSError:
        sys.exit('ended before it was ready: ' + seen.decode())
os.close(terminal)
for _ in range(300):
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended:
        print('ended', os.waitstatus_to_exitcode(status))
        sys.exit()
    time.sleep(0.1)
os.kill(pid, 9)
print('still runs')
`

test.skipIf(process.platform === 'win32')('a server stops when its terminal closes', async () => {
  const { main } = await builtProgram()
  const argv = ['serve', '--host', '127.0.0.1', '--port', '0', '--data', newDirectory()]
  const child = spawn('python3', ['-c', ON_A_TERMINAL, process.execPath, main, ...argv], {
    env: { ...process.env, SLUICE_RTMP_ENABLED: 'false', SLUICE_SRT_ENABLED: 'false', SLUICE_WEBRTC_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  for await (const chunk of child.stdout) out += String(chunk)
  expect(out.trim()).toBe('ended 0')
})
