import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { TestPublisher } from '../support/rtcPeer.ts'
import { builtProgram } from '../support/program.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { newDirectory, sluice } from './cliProcess.ts'

const dir = newDirectory()
let server: ChildProcess | null = null
afterAll(() => {
  server?.kill('SIGKILL')
  rmSync(dir, { recursive: true })
})

/** The media processes of this server, which may be a child of the started process. */
function mediaProcessesOf(server: number): string[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return all.filter((pid) => readProc(pid, 'cmdline').includes('relay/processes/process.js') && isBelow(pid, server))
}

function isBelow(pid: string, ancestor: number): boolean {
  const parent = /\nPPid:\t(\d+)/.exec(readProc(pid, 'status'))?.[1]
  return parent !== undefined && parent !== '0' && (Number(parent) === ancestor || isBelow(parent, ancestor))
}

function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    // The process has ended.
    return ''
  }
}

/** Uses any `node` that the shell finds: with an older one, Sluice runs in a child of the started process. */
test('a server that is started as by npm accepts a broadcast, and its media process inherits no secrets', async () => {
  const { bin, compileCache } = await builtProgram()
  const secrets = { SLUICE_METRICS_SECRET: 'metrics-secret-of-this-test', SLUICE_SECRETS_SEALING_KEY: SEALING_KEY }
  const env = {
    ...process.env,
    ...secrets,
    NODE_COMPILE_CACHE: compileCache,
    SLUICE_RTMP_PORT: '0',
    SLUICE_SRT_PORT: '0',
    SLUICE_WEBRTC_PORT: '0',
    SLUICE_SERVER_HOST: '127.0.0.1',
  }
  const started = spawn('node', [bin, 'serve', '--data', dir, '--port', '0'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  server = started
  let log = ''
  started.stdout.setEncoding('utf8').on('data', (text: string) => (log += text))
  while (!log.includes('"ready"')) await once(started.stdout, 'data')
  const url = /"url":"([^"]+)"/.exec(log)?.[1] ?? ''
  const create = ['token', 'create', '--label', 'demo', '--stream', 'show', '--data', dir]
  const { stdout } = await sluice(create, { env: secrets })
  const publisher = new TestPublisher()
  const answer = await fetch(`${url}/api/whip/show`, {
    method: 'POST',
    headers: { 'content-type': 'application/sdp', authorization: `Bearer ${stdout.trim()}` },
    body: await publisher.offer(),
  })
  expect(answer.status).toBe(201)
  await publisher.accept(await answer.text())
  expect(publisher.pc.connectionState).toBe('connected')
  const [media, ...others] = mediaProcessesOf(started.pid ?? 0)
  expect(others).toEqual([])
  const given = readFileSync(`/proc/${media}/environ`, 'utf8')
  expect(given).toContain('PATH=')
  for (const secret of Object.values(secrets)) expect(given).not.toContain(secret)
  await publisher.close()
  started.kill('SIGTERM')
  const [status] = (await once(started, 'exit')) as [number | null]
  expect(status).toBe(0)
})
