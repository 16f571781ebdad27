import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'vitest'
import { anyMoment } from '../support/until.ts'

/** The keys of one account in each of the three tables, read in one snapshot. */
export interface Written {
  tokens: string[]
  audit: string[]
  outbox: string[]
}

/** A database to write to, and how to read it from another process. */
export interface Target {
  name: string
  url: string
  written(accountId: string): Promise<Written>
}

/** Keys by account. */
export type Acknowledged = Map<string, string[]>

/** How many processes start ahead of their turn: a start takes much longer than a round. */
const AHEAD = 2

/**
 * Kills a process that writes to all targets, `rounds` times, at random moments. Every acknowledged transaction must be
 * stored, and none only in part. Returns the acknowledged ones for each target.
 */
export async function killWriters(program: string, targets: Target[], rounds: number): Promise<Acknowledged[]> {
  const acknowledged = targets.map((): Acknowledged => new Map())
  const urls = targets.map((target) => target.url)
  const ready = Array.from({ length: AHEAD }, () => startWriter(program, urls))
  for (let round = 0; round < rounds; round += 1) {
    const accountId = `r${String(round).padStart(5, '0')}`
    const child = ready.shift() ?? startWriter(program, urls)
    if (round + AHEAD < rounds) ready.push(startWriter(program, urls))
    const lines = await writeAndKill(child, accountId, round, targets.length)
    for (const [at, target] of targets.entries()) {
      const keys = lines.filter((line) => line.startsWith(`${at} `)).map((line) => line.slice(2))
      acknowledged[at]?.set(accountId, keys)
      expectWhole(await target.written(accountId), keys)
    }
  }
  return acknowledged
}

export function expectWhole(found: Written, acknowledged: string[]): void {
  const keys = found.tokens.toSorted()
  expect(found.audit.toSorted()).toEqual(keys)
  expect(found.outbox.toSorted()).toEqual(keys)
  const there = new Set(keys)
  expect(acknowledged.filter((key) => !there.has(key))).toEqual([])
}

function startWriter(program: string, urls: string[]): ChildProcess {
  return spawn(process.execPath, [program, ...urls], { stdio: ['pipe', 'pipe', 'inherit'] })
}

/** One round in five is killed at any moment, perhaps while opening the stores; the others after each store acknowledged. */
async function writeAndKill(child: ChildProcess, accountId: string, round: number, stores: number): Promise<string[]> {
  let said = ''
  const allSpoke = Promise.withResolvers<void>()
  child.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString()
    if (new Set(said.match(/^\d+(?= )/gm)).size === stores) allSpoke.resolve()
  })
  child.once('close', () => allSpoke.resolve())
  child.stdin?.write(`${accountId}\n`)
  if (round % 5 !== 0) await allSpoke.promise
  await anyMoment(round % 5 === 0 ? 80 : 10)
  await kill(child)
  // The kill truncated a last line without its end: the transaction was committed, but not acknowledged.
  return said.split('\n').slice(0, -1)
}

async function kill(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
  expect(child.signalCode, 'the writer ended by itself').toBe('SIGKILL')
}
