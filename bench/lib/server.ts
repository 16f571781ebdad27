import { readFileSync, rmSync } from 'node:fs'
import { command, endServers, newDirectory, serve } from '../../test/system/cliProcess.ts'
import { family, ownAddress } from '../relay/contender.ts'

export interface BenchServer {
  whip(stream: string): string
  whep(stream: string): string
  api(method: string, path: string, body?: unknown): Promise<{ id: number; token: string }>
  /** Resident memory of the server and of each of its relay processes, in MiB. */
  memory(): number[]
  stop(): Promise<void>
}

/** A server as `npm start` starts it, on a store of its own, with an account and an API secret. `settings`: its environment. */
export async function startServer(settings: Record<string, string> = {}): Promise<BenchServer> {
  const folder = newDirectory()
  const env = { SLUICE_WEBRTC_HOST: ownAddress(), SLUICE_WEBRTC_PORT: '0', SLUICE_LOG_LEVEL: 'info', ...settings }
  const server = await serve(['--data', folder], env)
  const secret = (await command(['--data', folder, 'secret', 'create', '--name', 'bench'])).stdout.trim()
  const { stdout } = await command(['--data', folder, 'account', 'list', '--json'])
  const [{ id: account }] = JSON.parse(stdout) as [{ id: string }]
  return {
    whip: (stream) => `${server.url}/api/whip/${stream}`,
    whep: (stream) => `${server.url}/api/whep/${account}/${stream}`,
    async api(method, path, body) {
      const headers = { authorization: `Bearer ${secret}`, ...(body ? { 'content-type': 'application/json' } : {}) }
      const response = await fetch(server.url + path, {
        method,
        headers,
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
      return (JSON.parse(text) as { data: { id: number; token: string } }).data
    },
    memory: () => family(pidIn(server.log())).map(residentMiB),
    async stop() {
      server.signal('SIGTERM')
      await server.ended
      endServers()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function pidIn(log: string): number {
  const line = log.split('\n').find((text) => text.includes('"message":"ready"'))
  return (JSON.parse(line ?? '{}') as { pid: number }).pid
}

const residentMiB = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
