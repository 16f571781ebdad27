import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { newAccount } from '../conformance/store.samples.ts'
import { httpReceiver, type Receiver } from '../delivery/support/receivers.ts'
import { addWebhook, Node, settled, until } from '../support/delivery.ts'
import { newPlace } from '../support/place.ts'
import { postgresUrl } from '../support/postgres.ts'
import { bundle, ROUNDS } from './bundle.ts'

/** Loaded or running at the same time: one writes while the next one starts. */
const AT_ONCE = 2
const folder = mkdtempSync(join(tmpdir(), 'sluice-crash-'))
const program = await bundle('webhookNode.ts', folder)
afterAll(() => rmSync(folder, { recursive: true }))

const engines = postgresUrl() ? (['SQLite', 'PostgreSQL'] as const) : (['SQLite'] as const)

describe.each(engines)('a server that is killed while it sends, on %s', (engine) => {
  test(`sends no event twice and loses none that was never begun, in ${ROUNDS} rounds`, async () => {
    const place = await newPlace(engine)
    const receiver = await httpReceiver()
    // Only what is killed has a short lease: on a busy machine this node may stand still for longer than that.
    const node = await Node.open(place.url)
    const rounds = await prepare(node.store, receiver)

    const committed = await killAll(place.url, rounds, receiver)

    await node.runner.start()
    await until(async () => (await node.store.read.outbox.pending(1)).length === 0)
    const log = (await Promise.all(rounds.map(({ webhookId }) => settled(node.store, webhookId, 1)))).flat()
    const received = receiver.requests.map(({ headers }) => String(headers['webhook-id']))
    const inState = (...states: string[]) => log.filter(({ state }) => states.includes(state)).map((one) => one.eventId)

    expect(received.length).toBeGreaterThan(ROUNDS)
    expect(new Set(received).size).toBe(received.length)
    expect(log.filter(({ state }) => !['delivered', 'unknown'].includes(state))).toEqual([])
    const logged = new Set(log.map(({ subject }) => subject))
    expect(logged.size).toBe(log.length)
    expect(committed.filter((name) => !logged.has(name))).toEqual([])
    const arrived = new Set(received)
    expect(inState('delivered').filter((id) => !arrived.has(id))).toEqual([])
    const may = new Set(inState('delivered', 'unknown'))
    expect(received.filter((id) => !may.has(id))).toEqual([])
    console.info(`${engine}: ${log.length} events, ${received.length} arrived, ${inState('unknown').length} unknown`)

    await node.close()
    await receiver.stop()
    await place.remove()
  }, 240_000)
})

interface Round {
  accountId: string
  webhookId: number
  /** Requests after which the process is killed. */
  kill: number
}

/** Each round has a webhook of its own, so that no round waits for what another has left behind. */
async function prepare(store: Store, receiver: Receiver): Promise<Round[]> {
  const rounds: Round[] = []
  for (let n = 0; n < ROUNDS; n += 1) {
    const accountId = newAccount()
    const { id } = await addWebhook(store, accountId, `http://127.0.0.1:${receiver.port}/`)
    rounds.push({ accountId, webhookId: id, kill: (n * 7) % 23 })
  }
  return rounds
}

/** Runs the rounds; answers the names that the killed processes said were committed. */
async function killAll(url: string, rounds: readonly Round[], receiver: Receiver): Promise<string[]> {
  const committed: string[] = []
  const waiting = [...rounds]
  const lane = async () => {
    for (let round = waiting.pop(); round; round = waiting.pop()) {
      const child = spawnNode(url, round.accountId, round.accountId)
      await killOne(child, receiver, round.kill, (name) => committed.push(name))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  return committed
}

function spawnNode(url: string, accountId: string, prefix: string): ChildProcess {
  return spawn(process.execPath, [program, url, accountId, prefix], { stdio: ['pipe', 'pipe', 'inherit'] })
}

/** Kills the process with SIGKILL when `more` requests have arrived since it began to write, wherever it is then. */
async function killOne(child: ChildProcess, receiver: Receiver, more: number, told: (name: string) => void) {
  let text = ''
  const lines = () => text.split('\n').slice(0, -1)
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const exited = once(child, 'close')
  child.stdin?.write('go\n')
  await until(() => lines().length > 0 || child.exitCode !== null)
  const enough = receiver.requests.length + more
  await until(() => receiver.requests.length >= enough || child.exitCode !== null)
  expect(child.exitCode, 'the process ended by itself').toBeNull()
  child.kill('SIGKILL')
  await exited
  for (const name of lines()) told(name)
}
