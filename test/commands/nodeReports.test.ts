import { afterAll, beforeAll, expect, it } from 'vitest'
import { timeOrderedId } from '../../src/base/ids.ts'
import { err, ok } from '../../src/base/result.ts'
import { NodeReporting, type NodeReports } from '../../src/commands/nodes/nodeReports.ts'
import { answerReloads } from '../../src/commands/nodes/reload.ts'
import { failure } from '../../src/core/errors.ts'
import { startTestNode, type TestNode } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const NOTHING = { ok: true, applied: [], needRestart: [], problems: [] }

let at: TestNode
beforeAll(async () => {
  at = await startTestNode()
})
afterAll(() => at.close())

const none = async () => err(failure('internal'))
const reportsOf = (own: Partial<NodeReports>): NodeReports => ({
  examination: none,
  findings: none,
  storage: none,
  configuration: none,
  upkeep: none,
  ...own,
})
const reportingOf = (node: string, own: Partial<NodeReports> = {}) =>
  new NodeReporting(at.ctx, () => node, reportsOf(own))

const ask = async (nodeId: string, report: string | null): Promise<string> => {
  const id = timeOrderedId(at.ctx.clock.now(), at.ctx.random)
  const request = { id, nodeId, report, isCheck: true }
  await at.ctx.store.transaction((tx) => tx.reloads.insert(request, at.ctx.clock.now()))
  return id
}
const answerTo = async (id: string): Promise<unknown> => {
  const json = await at.ctx.store.read.reloads.answer(id)
  return json === null ? null : JSON.parse(json)
}

it('makes a report once for all who ask, and answers a reload while it takes its time', async () => {
  let calls = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  const examination = async () => {
    calls += 1
    await promise
    return ok({ checks: calls })
  }
  const reporting = reportingOf('busy', { examination })
  const asked = [await ask('busy', 'examination'), await ask('busy', 'examination')]
  await reporting.answer()
  await reporting.answer()
  const reload = await ask('busy', null)
  await answerReloads(at.ctx, 'busy', async () => NOTHING)
  expect(await answerTo(reload)).toEqual(NOTHING)
  expect(await Promise.all(asked.map(answerTo))).toEqual([null, null])
  resolve()
  const last = await until(() => answerTo(asked[1] ?? ''))
  expect([last, calls]).toEqual([{ ok: true, value: { checks: 1 } }, 1])
  expect(await answerTo(asked[0] ?? '')).toEqual(last)
})

it('answers that a report failed, or that this version does not have it', async () => {
  const reporting = reportingOf('odd', { storage: () => Promise.reject(new Error('no disk')) })
  const [storage, dance] = [await ask('odd', 'storage'), await ask('odd', 'dance')]
  await reporting.answer()
  expect(await until(() => answerTo(storage))).toMatchObject({ ok: false, error: { code: 'internal' } })
  expect(await until(() => answerTo(dance))).toMatchObject({ ok: false, error: { code: 'unavailable' } })
})

it('asks another node over the store', async () => {
  const [here, there] = ['here', 'there']
  await at.ctx.store.transaction((tx) => tx.nodes.insert({ id: there, hostKey: 'h', pid: 1, url: null }, 60_000))
  const asking = reportingOf(here).read('upkeep', { node: there })
  const other = reportingOf(there, { upkeep: async () => ok({ version: '9' }) })
  await until(async () => (await at.ctx.store.read.reloads.reports(there))[0])
  await other.answer()
  expect(await asking).toEqual(ok({ version: '9' }))
})

it('refuses a node that is not there, and two of them', async () => {
  const reporting = reportingOf('here')
  expect(await reporting.read('upkeep', { node: 'gone' })).toMatchObject({ ok: false, error: { code: 'not_found' } })
  expect(await reporting.read('upkeep', { node: ['a', 'b'] })).toMatchObject({
    ok: false,
    error: { code: 'validation' },
  })
})
