import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'

const IDLE_MS = 3000

export interface Start {
  readonly startMs: number
  /** Resident memory when it is idle; 0 if `idle` was false. */
  readonly memoryMb: number
}

/** Starts a server with its data in `directory`, waits until it is ready, and stops it. */
export async function oneStart(
  node: string,
  entry: string,
  directory: string,
  idle: boolean,
  env: Record<string, string> = {},
): Promise<Start> {
  const startedAt = performance.now()
  const server = spawn(node, [entry, 'serve', '--data', directory, '--port', '0', '--host', '127.0.0.1'], {
    env: { ...process.env, SLUICE_RTMP_PORT: '0', SLUICE_SRT_PORT: '0', SLUICE_WEBRTC_PORT: '0', ...env },
  })
  for await (const line of createInterface(server.stdout)) {
    if ((JSON.parse(line) as { message: string }).message === 'ready') break
  }
  const startMs = performance.now() - startedAt
  if (idle) await delay(IDLE_MS)
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]
  server.kill('SIGTERM')
  await once(server, 'exit')
  return { startMs, memoryMb: idle ? Number(kilobytes) / 1024 : 0 }
}
