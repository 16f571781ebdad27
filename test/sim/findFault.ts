import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Fault } from './faults.ts'

/** The world that found a fault. */
export interface Finding {
  readonly seed: number
  /** What was wrong there. */
  readonly said: string
}

/** Runs `count` worlds from the seed of the fault on, with it put in. Null: none has found it. */
export async function findFault({ name, seed }: Fault, count: number): Promise<Finding | null> {
  const program = fileURLToPath(new URL('run.ts', import.meta.url))
  const args = [program, String(count), '--from', String(seed), '--fault', name]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const said = await text(child.stderr)
  const found = /seed (\d+): (.*)/.exec(said)
  if (found === null && said !== '') throw new Error(said)
  return found && { seed: Number(found[1]), said: found[2] ?? '' }
}
