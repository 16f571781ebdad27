import { readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { metricOf } from '../../test/support/metrics.ts'
import { command, endServers, newDirectory, serve } from '../../test/system/cliProcess.ts'
import { family, ownAddress } from '../relay/contender.ts'

/** The program that `npm start` runs. */
const ENTRY = fileURLToPath(new URL('../../bin/sluice.js', import.meta.url))

/** A token of the API, with what its encoders need. */
export interface PublishToken {
  readonly id: number
  readonly token: string
  /** Of tokens made with `displaySrtPassphrase`. */
  readonly srtPassphrase?: string
}

export interface BenchServer {
  whip(stream: string): string
  whep(stream: string): string
  rtmp(stream: string, token: string): string
  srt(stream: string, published: PublishToken): string
  hls(stream: string, token: string): string
  api<T = PublishToken>(method: string, path: string, body?: unknown): Promise<T>
  /** A figure of `/metrics`, by its name and labels. */
  metric(name: string): Promise<number>
  /** Resident memory of the server and of each of its relay processes, in MiB. */
  memory(): number[]
  /** Processor time of the server and of each of its relay processes until now, in seconds. */
  cpu(): number[]
  stop(): Promise<void>
}

/** A server as `npm start` runs it, with its own store, an account and an API secret. `settings` is its environment. */
export async function startServer(settings: Record<string, string> = {}): Promise<BenchServer> {
  const folder = newDirectory()
  const env = { SLUICE_WEBRTC_HOST: ownAddress(), SLUICE_WEBRTC_PORT: '0', SLUICE_LOG_LEVEL: 'info', ...settings }
  // Runs also when the bench fails.
  process.on('exit', endServers)
  const server = await serve(['--data', folder], env, { entry: ENTRY })
  const around = { env: settings }
  // Nodes on one database have one list of secrets.
  const name = `bench ${server.port}`
  const secret = (await command(['--data', folder, 'secret', 'create', '--name', name], around)).stdout.trim()
  const { stdout } = await command(['--data', folder, 'account', 'list', '--json'], around)
  const [{ id: account }] = JSON.parse(stdout) as [{ id: string }]
  return {
    whip: (stream) => `${server.url}/api/whip/${stream}`,
    whep: (stream) => `${server.url}/api/whep/${account}/${stream}`,
    rtmp: (stream, token) =>
      `rtmp://127.0.0.1:${logged(server.log(), 'taking RTMP').port}/v2/pub/${stream}?token=${token}`,
    srt: (stream, { token, srtPassphrase }) =>
      `srt://127.0.0.1:${logged(server.log(), 'taking SRT').port}?streamid=${stream}%3Ft%3D${token}` +
      (srtPassphrase === undefined ? '' : `&passphrase=${srtPassphrase}&pbkeylen=16`),
    hls: (stream, token) => `${server.url}/hls/${account}/${stream}/index.m3u8?auth=${token}`,
    async api<T>(method: string, path: string, body?: unknown) {
      const headers = { authorization: `Bearer ${secret}`, ...(body ? { 'content-type': 'application/json' } : {}) }
      const response = await fetch(server.url + path, {
        method,
        headers,
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
      return (JSON.parse(text) as { data: T }).data
    },
    metric: (name) => metricOf(server.url, name),
    memory: () => processesOf(logged(server.log(), 'ready').pid).map(residentMiB),
    cpu: () => processesOf(logged(server.log(), 'ready').pid).map(cpuSeconds),
    async stop() {
      server.signal('SIGTERM')
      await server.ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The fields of the log line with this message. */
function logged(log: string, message: string): { pid: number; port: number } {
  const line = log.split('\n').find((text) => text.includes(`"message":"${message}"`))
  return JSON.parse(line ?? '{}') as { pid: number; port: number }
}

/** The server, and its relay processes. */
const processesOf = (pid: number): number[] => [
  pid,
  // What is built, or the sources.
  ...family(pid).filter((one) => /\/media\/relay\/processes\/process\.[jt]s/.test(read(one, 'cmdline'))),
]

/** The kernel counts in hundredths. The fields follow the name of the program, which may have blanks. */
export function cpuSeconds(pid: number): number {
  const fields = read(pid, 'stat').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

const residentMiB = (pid: number): number => Number(/^VmRSS:\s+(\d+)/m.exec(read(pid, 'status'))?.[1] ?? 0) / 1024

/** Empty if the process has ended, such as an ffmpeg. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
