import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { workingIn } from '../support/channels.ts'
import { command, newDirectory, serve } from '../system/cliProcess.ts'
import { ownPort } from '../support/ownPort.ts'

/** A server in a process of its own, which can be ended in any way and started again at its ports. */
export interface HlsServer {
  readonly url: string
  readonly accountId: string
  readonly rtmp: string
  /** A request to `/api`, or with a path under `/v2` to the channels interface. Returns `data`. Throws on a refusal. */
  made(method: string, path: string, body?: unknown): Promise<ReturnType<typeof JSON.parse>>
  /** The processes of an engine. */
  engine(id: string): Promise<number[]>
  /** Ends the server with this signal, and starts it again. */
  restart(signal: NodeJS.Signals): Promise<void>
  close(): Promise<void>
}

export async function startHlsServer(): Promise<HlsServer> {
  const dir = newDirectory()
  const [port, rtmpPort] = [String(await ownPort()), String(await ownPort())]
  const env = { SLUICE_SERVER_PORT: port, SLUICE_RTMP_PORT: rtmpPort, SLUICE_SRT_PORT: '0', SLUICE_WEBRTC_PORT: '0' }
  const start = () => serve(['--data', dir], env)
  let running = await start()
  const [secret, credential] = [
    (await command(['--data', dir, 'secret', 'create', '--name', 'hls'])).stdout.trim(),
    (await command(['--data', dir, 'credential', 'create', '--name', 'hls'])).stdout.trim(),
  ]
  const ready = running
    .log()
    .split('\n')
    .find((line) => line.includes('"message":"ready"'))
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    running.signal(signal)
    await running.ended
  }
  return {
    url: running.url,
    accountId: (JSON.parse(ready ?? '{}') as { accountId: string }).accountId,
    rtmp: `rtmp://127.0.0.1:${rtmpPort}`,
    async made(method, path, body) {
      const basic = `Basic ${Buffer.from(credential).toString('base64')}`
      const authorization = path.startsWith('/v2') ? basic : `Bearer ${secret}`
      const headers = { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      const answer = await fetch(running.url + path, { method, headers, ...sent })
      const text = await answer.text()
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
      return text === '' ? undefined : (JSON.parse(text) as { data: unknown }).data
    },
    engine: (id) => workingIn(join(dir, 'channels', id)),
    async restart(signal) {
      await end(signal)
      running = await start()
    },
    async close() {
      await end('SIGTERM')
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
