import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { newAccount } from '../conformance/store.samples.ts'
import { httpReceiver, type Receiver } from '../delivery/support/receivers.ts'
import { addWebhook, Node, settled } from '../support/delivery.ts'
import { until } from '../support/until.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { bundle, ROUNDS, ROUNDS_TIMEOUT_MS } from './bundle.ts'

/** Each second it looks for what dead nodes had begun: PostgreSQL may commit their last transaction after their end. */
const impatient: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 1000), signal) }

/** Loaded or running at the same time: one writes while the next one starts. */
const AT_ONCE = 2
const folder = mkdtempSync(join(tmpdir(), 'sluice-crash-'))
const program = await bundle('webhookNode.ts', folder)
afterAll(() => rmSync(folder, { recursive: true }))

const engines = testedStores()

/** One store, the receiver of its events, and a webhook for each round, so that no round waits for another one. */
interface Scene {
  engine: (typeof engines)[number]
  place: Place
  receiver: Receiver
  node: Node
  rounds: { accountId: string; webhookId: number }[]
  /** The commits that the killed processes reported. */
  committed: string[]
}

// One process writes to all stores, so that one kill serves them all.
describe(`a server that is killed while it sends, on ${engines.join(' and ')}`, () => {
  test(
    `sends no event twice and loses none that had not started, in ${ROUNDS} rounds`,
    async () => {
      const scenes = await Promise.all(engines.map(prepare))
      await killAll(scenes)
      for (const scene of scenes) await judge(scene)
    },
    ROUNDS_TIMEOUT_MS,
  )
})

async function prepare(engine: (typeof engines)[number]): Promise<Scene> {
  const [place, receiver] = [await newPlace(engine), await httpReceiver()]
  const node = await Node.open(place.url, { clock: impatient })
  const rounds: Scene['rounds'] = []
  for (let n = 0; n < ROUNDS; n += 1) {
    const accountId = newAccount()
    const { id: webhookId } = await addWebhook(node.store, accountId, `http://127.0.0.1:${receiver.port}/`)
    rounds.push({ accountId, webhookId })
  }
  return { engine, place, receiver, node, rounds, committed: [] }
}

async function judge({ engine, place, receiver, node, rounds, committed }: Scene): Promise<void> {
  // The leases of the killed nodes expire.
  for (const { accountId } of rounds) await node.store.transaction((tx) => tx.deliveries.renew(accountId, -1))
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
}

async function killAll(scenes: readonly Scene[]): Promise<void> {
  const waiting = Array.from({ length: ROUNDS }, (_, round) => round)
  const slot = async () => {
    for (let round = waiting.pop(); round !== undefined; round = waiting.pop()) {
      const at = round
      const places = scenes.flatMap(({ place, rounds }) => [place.url, rounds[at]?.accountId ?? ''])
      const child = spawn(process.execPath, [program, ...places], { stdio: ['pipe', 'pipe', 'inherit'] })
      await killOne(child, scenes, round)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, slot))
}

/**
 * Kills the process with SIGKILL after some requests have arrived since it began to write. The stores take turns in whose
 * requests are counted, because one is faster than the other.
 */
async function killOne(child: ChildProcess, scenes: readonly Scene[], round: number): Promise<void> {
  let text = ''
  const reported = (store: number) =>
    text
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith(`${store} `))
      .map((line) => line.slice(2))
  const arrived = () => scenes[round % scenes.length]?.receiver.requests.length ?? 0
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const exited = once(child, 'close')
  child.stdin?.write('go\n')
  await until(() => scenes.every((_, store) => reported(store).length > 0) || child.exitCode !== null)
  const enough = arrived() + ((round * 7) % 11)
  await until(() => arrived() >= enough || child.exitCode !== null)
  expect(child.exitCode, 'the process ended by itself').toBeNull()
  child.kill('SIGKILL')
  await exited
  for (const [store, { committed }] of scenes.entries()) committed.push(...reported(store))
}
