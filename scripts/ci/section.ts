import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** `stopped`: the time of the whole run was over. */
export type Outcome = 'ok' | 'failed' | 'stopped'

export interface Bounds {
  /** A process that runs longer hangs: a failure. */
  readonly limitSeconds: number
  /** When the time of the whole run is over: no failure. */
  readonly stopSeconds?: number
  readonly env?: Readonly<Record<string, string>>
}

const KILL_SECONDS = 30

/**
 * Runs npm in a process group of its own, and prints its output in one piece at its end, since another section may run
 * beside it.
 */
export async function runSection(
  name: string,
  args: readonly string[],
  { limitSeconds, stopSeconds = Infinity, env = {} }: Bounds,
): Promise<{ outcome: Outcome; seconds: number }> {
  const startedMs = performance.now()
  const child = spawn('npm', args, {
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
  const isShort = stopSeconds < limitSeconds
  let isOver = false
  const timers = [
    setTimeout(() => ((isOver = true), endGroup(child.pid, 'SIGTERM')), 1000 * Math.min(limitSeconds, stopSeconds)),
    setTimeout(() => endGroup(child.pid, 'SIGKILL'), 1000 * (Math.min(limitSeconds, stopSeconds) + KILL_SECONDS)),
  ]
  const [code] = (await once(child, 'close')) as [number | null]
  for (const timer of timers) clearTimeout(timer)
  const seconds = (performance.now() - startedMs) / 1000
  const outcome = isOver ? (isShort ? 'stopped' : 'failed') : code === 0 ? 'ok' : 'failed'
  console.log(`=== ${name}\n${Buffer.concat(output).toString()}--- ${name}: ${outcome}, ${Math.round(seconds)} s`)
  return { outcome, seconds }
}

function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It has ended.
  }
}
