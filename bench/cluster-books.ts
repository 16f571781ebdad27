/**
 * What the books of a cluster cost PostgreSQL, and whether they stay right: node processes with viewers of one stream, who
 * each get 2.5 Mbit/s, on a PostgreSQL that this starts. Then all leave within a second, and two nodes are killed.
 *   node bench/cluster-books.ts --nodes 8 --viewers 100000
 * With `--idle` it counts the transactions of idle servers, by default of two. With `--feeds` it measures
 * what a node pays for each feed that begins or ends at another one, while 10,000 are on the air. With `--figures` it measures
 * what the figures of 10,000 streams cost PostgreSQL, with 100 nodes.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { readCommandLine } from '../scripts/commandLine.ts'
import { findBinaries, startPostgres } from '../test/support/postgres.setup.ts'
import { until } from '../test/support/until.ts'
import { measureFeeds } from './lib/booksFeeds.ts'
import { measureFigures } from './lib/booksFigures.ts'
import { measureIdle } from './lib/booksIdle.ts'
import { report } from './lib/report.ts'

/** Viewers of other streams at each node, who stay. */
const OTHERS = 100
/** Rows of several sessions are written within this time, and a round takes a little. */
const LOST_MS = 13_000
const WATCHED_MS = 70_000
/** Jiffies of the kernel in a second. */
const JIFFIES = 100

const { values } = readCommandLine({
  options: {
    idle: { type: 'boolean', default: false },
    feeds: { type: 'boolean', default: false },
    figures: { type: 'boolean', default: false },
    nodes: { type: 'string' },
    viewers: { type: 'string', default: '100000' },
  },
})
const NODES = Number(values.nodes ?? (values.idle ? 2 : 8))
const VIEWERS = Number(values.viewers)

const binaries = findBinaries()
if (binaries === undefined) throw new Error('PostgreSQL is not installed')
const postgres = await startPostgres(binaries)
const client = new Client({ connectionString: postgres.url })
await client.connect()
const nodes: BooksNode[] = []
try {
  if (values.idle) await measureIdle(postgres.url, NODES)
  else if (values.feeds) await measureFeeds(postgres.url, await startNode())
  else if (values.figures) await measureFigures(postgres.url, async () => processorMs(await postmaster()))
  else await measureBooks()
} finally {
  for (const { child } of nodes) child.kill('SIGKILL')
  await client.end()
  await postgres.remove()
}
process.exit()

async function measureBooks(): Promise<void> {
  // One after another: the first one makes the schema.
  for (let n = 0; n < NODES; n++) await startNode()
  await fill('show', VIEWERS)
  await Promise.all(nodes.map((node, n) => node.ask('fill', { streamName: `other${n}`, viewers: OTHERS })))
  await Promise.all(nodes.map((node) => node.ask('move')))
  await measureRounds()
  await measureEnds()
  await measureKills()
}

interface BooksNode {
  readonly child: ChildProcess
  readonly id: string
  ask<T>(what: string, argument?: object): Promise<T>
}

async function startNode(): Promise<BooksNode> {
  const child = fork(fileURLToPath(new URL('lib/booksNode.ts', import.meta.url)), [postgres.url])
  const answerTo = async <T>(what: string): Promise<T> => {
    for (;;) {
      const [message] = await once(child, 'message')
      if (message.what !== what) continue
      if (message.error !== undefined) throw new Error(`${what}: ${message.error}`)
      return message.result
    }
  }
  const id = await answerTo<string>('started')
  const node: BooksNode = {
    child,
    id,
    ask(what, argument = {}) {
      const answer = answerTo<never>(what)
      child.send({ what, argument })
      return answer
    },
  }
  nodes.push(node)
  return node
}

async function fill(streamName: string, viewers: number): Promise<void> {
  await Promise.all(nodes.map((node) => node.ask('fill', { streamName, viewers: viewers / NODES })))
}

/** All nodes have written rows, and what is left to do of 100,000 insertions is done, so that nothing of the start is in the figures. */
async function measureRounds(): Promise<void> {
  await sleep(WATCHED_MS / 7)
  await client.query('vacuum analyze')
  await Promise.all(nodes.map((node) => node.ask('rounds')))
  const [before, beforeWal, sinceMs] = [processorMs(await postmaster()), await walBytes(), performance.now()]
  const busiest: number[] = []
  for (let last = before; performance.now() - sinceMs < WATCHED_MS; ) {
    await sleep(10_000)
    const now = processorMs(await postmaster())
    busiest.push((now - last) / 10_000)
    last = now
  }
  const passedMs = performance.now() - sinceMs
  const cores = (processorMs(await postmaster()) - before) / passedMs
  const wal = ((await walBytes()) - beforeWal) / passedMs
  const rounds = (await Promise.all(nodes.map((node) => node.ask<number[]>('rounds')))).flat()
  const longest = Math.max(...rounds)
  report({
    what: `the longest of ${rounds.length} rounds, of a second`,
    ratio: longest / 1000,
    target: 'at most 1',
    met: longest <= 1000,
    detail: `${VIEWERS} viewers at ${NODES} nodes; the mean is ${mean(rounds).toFixed(0)} ms`,
  })
  report({
    what: 'cores of PostgreSQL, all work of the nodes included, mean',
    ratio: cores,
    target: 'at most 0.1',
    met: cores <= 0.1,
    detail: `10 s at a time: ${busiest.map((each) => each.toFixed(2)).join(' ')}; ${wal.toFixed(0)} kB/s of WAL`,
  })
}

/** All viewers of the stream leave at once. */
async function measureEnds(): Promise<void> {
  const sinceMs = performance.now()
  let oldestMs = 0
  const over = new AbortController()
  const watching = (async () => {
    while (!over.signal.aborted) {
      oldestMs = Math.max(oldestMs, await ageOfLease())
      await sleep(200)
    }
  })()
  await Promise.all(nodes.map((node) => node.ask('leave', { streamName: 'show' })))
  await until(async () => (await openSessions('show')) === 0)
  const passedMs = performance.now() - sinceMs
  over.abort()
  await watching
  const stay = (await Promise.all(nodes.map((node) => node.ask<number>('open')))).reduce((sum, n) => sum + n, 0)
  report({
    what: `seconds until ${VIEWERS} ends are on record, of 30`,
    ratio: passedMs / 30_000,
    target: 'at most 1',
    met: passedMs <= 30_000 && oldestMs <= 5000 && stay === NODES * OTHERS,
    detail: `${(passedMs / 1000).toFixed(1)} s; the oldest lease was ${oldestMs} ms; ${stay} other viewers stay`,
  })
}

/** Two nodes with viewers are killed. Their bytes are known, because they stop to count just before. */
async function measureKills(): Promise<void> {
  await fill('show', VIEWERS / 10)
  await sleep(2 * LOST_MS)
  const killed = nodes.splice(0, 2)
  const counted = await Promise.all(killed.map((node) => node.ask<number>('freeze')))
  for (const { child } of killed) child.kill('SIGKILL')
  await until(async () => (await rows(`select 1 from serving_nodes`)).length === NODES - 2)
  const others = await Promise.all(nodes.map((node) => node.ask<number>('freeze')))
  await Promise.all(nodes.map((node) => node.ask('flush')))
  const sum = [...counted, ...others].reduce((all, one) => all + one, 0)
  const missing = sum - (await bytesOnRecord())
  const interval = 2 * (VIEWERS / 10 / NODES + OTHERS) * 312_500 * (LOST_MS / 1000)
  report({
    what: 'bytes that two killed nodes lost, of those of one interval',
    ratio: missing / interval,
    target: '0 to 1',
    met: missing >= 0 && missing <= interval,
    detail: `${(sum / 1e9).toFixed(1)} GB were counted, ${(missing / 1e9).toFixed(3)} GB are missing`,
  })
}

async function rows(sql: string): Promise<Record<string, string>[]> {
  return (await client.query(sql)).rows
}

async function numberOf(sql: string): Promise<number> {
  return Number(Object.values((await rows(sql))[0] ?? {})[0] ?? 0)
}

function openSessions(streamName: string): Promise<number> {
  return numberOf(`select count(*) from sessions where stream_name = '${streamName}' and ended_at_ms is null`)
}

function ageOfLease(): Promise<number> {
  return numberOf(`select round(extract(epoch from clock_timestamp()) * 1000 - min(seen_at_ms)) from serving_nodes`)
}

function bytesOnRecord(): Promise<number> {
  const hours = `select bytes_out from usage where span = 'hour' and stream_name <> ''`
  const both = `${hours} union all select bytes_out from node_usage`
  return numberOf(`select sum(bytes_out) from (${both}) as both_of`)
}

function walBytes(): Promise<number> {
  return numberOf(`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')`)
}

async function postmaster(): Promise<number> {
  const [row] = await rows('show data_directory')
  return Number(readFileSync(join(row?.['data_directory'] ?? '', 'postmaster.pid'), 'utf8').split('\n')[0])
}

/** Processor time of a process, of its children that run, and of those that have ended. */
function processorMs(pid: number): number {
  let jiffies = 0
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const fields = statOf(entry)
    const isIt = Number(entry) === pid
    if (!isIt && Number(fields[1]) !== pid) continue
    // utime and stime; of the parent also those of children that have ended.
    for (const at of isIt ? [11, 12, 13, 14] : [11, 12]) jiffies += Number(fields[at])
  }
  return (jiffies * 1000) / JIFFIES
}

/** Without pid and name; empty if the process has ended. */
function statOf(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, n) => sum + n, 0) / Math.max(1, numbers.length)
}
