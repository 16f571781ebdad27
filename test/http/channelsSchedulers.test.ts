import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { EngineSupervisor } from '../../src/services/engineSupervisor.ts'
import { engineRecords } from '../../src/commands/channels/runs/engineRecords.ts'
import { putSchedulersRight, runSchedulers } from '../../src/commands/channels/schedules/occurrences.ts'
import { unrenewed } from '../support/leases.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'

const NOON = Date.parse('2030-03-30T12:00:00Z')
const HOUR = 3_600_000

let live: ChannelsClient
const clock = new ManualClock(NOON)

beforeAll(async () => {
  live = await runChannels({ clock })
})
afterAll(() => live.close())

const made = (body: object) => live.made('POST', '/schedulers', body)
const read = (id: string) => live.made('GET', `/schedulers/${id}`)
const refused = async (method: string, path: string, body?: unknown) => {
  const { status, json } = await live.v2(method, path, body)
  return { status, code: json.code, path: json.details?.[0]?.path }
}

/** Sets the clock to this time and runs due schedulers. */
async function at(text: string): Promise<void> {
  clock.advance(Date.parse(text) - clock.now())
  await runSchedulers(live.running.app.ctx)
}

interface Channel {
  id: string
  engineIds: string[]
}

async function channelWith(engines = 1): Promise<Channel> {
  const list = Array.from({ length: engines }, (_, n) => ({ name: `Engine ${n}`, region: 'local' }))
  const ingest = {
    name: 'Camera',
    type: 'rtmp-push',
    region: 'local',
    engines: list.map((e) => ({ ...e, quality: QUALITY })),
  }
  const channel = await live.made('POST', '/channels', { name: 'Stage', timeout: 0, ingests: [ingest] })
  return { id: channel.id, engineIds: channel.engines.map((engine: { id: string }) => engine.id) }
}

const QUALITY = { abrLadderId: 'ab_default' }

/** Runs of an engine, oldest first, as `start..stop`. */
async function runsOf(engineId: string | undefined): Promise<string[]> {
  const { data } = (await live.v2('GET', `/engines/${engineId}/runs`)).json
  const clockTime = (text?: string) => text?.slice(11, 16) ?? 'now'
  return data
    .map((run: { start: string; end?: string; startType: string; stopType?: string }) =>
      [`${clockTime(run.start)}-${clockTime(run.end)}`, run.startType, run.stopType].filter(Boolean).join(' '),
    )
    .toReversed()
}

describe('a scheduler', () => {
  test('starts and stops its channel at wall-clock times of its zone, across a clock change', async () => {
    const { id, engineIds } = await channelWith()
    const times = { startDate: '2030-03-30', startTime: '15:00', endTime: '15:30', timeZone: 'Europe/Vienna' }
    const scheduler = await made({
      name: 'Daily',
      channels: [{ channelId: id }],
      recurrence: 'RRULE:FREQ=DAILY;COUNT=2',
      ...times,
    })
    expect(scheduler).toMatchObject({
      status: 'idle',
      enabled: true,
      nextStart: '2030-03-30T14:00:00.000Z',
      channelIds: [id],
    })
    await at('2030-03-30T14:00:00Z')
    expect(await read(scheduler.id)).toMatchObject({ status: 'active', nextStart: '2030-03-31T13:00:00.000Z' })
    await at('2030-03-30T14:30:00Z')
    await at('2030-03-31T13:00:00Z')
    await at('2030-03-31T13:30:00Z')
    expect(await runsOf(engineIds[0])).toEqual(['14:00-14:30 scheduler scheduler', '13:00-13:30 scheduler scheduler'])
    expect(await read(scheduler.id)).toMatchObject({ status: 'terminated', skipped: [] })
    const edit = await refused('PATCH', `/schedulers/${scheduler.id}`, { name: 'Other' })
    expect(edit).toMatchObject({ status: 409, code: 'scheduler_terminated' })
    expect((await live.v2('DELETE', `/schedulers/${scheduler.id}`)).status).toBe(204)
  })

  test('joins a current occurrence late after the server was down, and records what it skipped', async () => {
    const { id, engineIds } = await channelWith()
    const times = { startDate: '2030-04-01', startTime: '10:00', endTime: '11:00' }
    const scheduler = await made({
      name: 'Late',
      channels: [{ channelId: id }],
      recurrence: 'RRULE:FREQ=DAILY',
      ...times,
    })
    await at('2030-04-03T10:20:00Z')
    expect(await runsOf(engineIds[0])).toEqual(['10:20-now scheduler'])
    const { skipped } = await read(scheduler.id)
    expect(skipped.map((one: { start: string }) => one.start.slice(5, 10))).toEqual(['04-02', '04-01'])
    await at('2030-04-05T12:00:00Z')
    expect(await runsOf(engineIds[0])).toEqual(['10:20-12:00 scheduler scheduler'])
    await live.v2('DELETE', `/schedulers/${scheduler.id}`)
  })

  test('shares a channel with another: it runs while either of them is active', async () => {
    const { id, engineIds } = await channelWith(2)
    const day = { startDate: '2030-05-01', channels: [{ channelId: id }] }
    await made({ name: 'A', ...day, startTime: '10:00', endTime: '12:00' })
    const b = { name: 'B', startTime: '11:00', endTime: '13:00', startDate: '2030-05-01' }
    await made({ ...b, channels: [{ channelId: id, engineIds: [engineIds[0]] }] })
    for (const time of ['10:00', '11:00', '12:00', '13:00']) await at(`2030-05-01T${time}:00Z`)
    expect(await runsOf(engineIds[0])).toEqual(['10:00-13:00 scheduler scheduler'])
    expect(await runsOf(engineIds[1])).toEqual(['10:00-12:00 scheduler scheduler'])
  })

  test('goes on without a break in the next scheduler, which begins when the first one ends', async () => {
    const { id, engineIds } = await channelWith()
    const day = { startDate: '2030-05-03', channels: [{ channelId: id }] }
    // Whichever comes first: by age and by id.
    await made({ name: 'Noon', ...day, startTime: '12:00', endTime: '14:00' })
    await made({ name: 'Morning', ...day, startTime: '10:00', endTime: '12:00' })
    await made({ name: 'Afternoon', ...day, startTime: '14:00', endTime: '16:00' })
    for (const time of ['10:00', '12:00', '14:00', '16:00']) await at(`2030-05-03T${time}:00Z`)
    expect(await runsOf(engineIds[0])).toEqual(['10:00-16:00 scheduler scheduler'])
  })

  test('begins what is due although it is edited or started by hand in that moment', async () => {
    const [edited, started] = [await channelWith(), await channelWith()]
    const times = { startDate: '2030-05-10', startTime: '10:00', endTime: '11:00' }
    const once = await made({ name: 'Once', channelIds: [edited.id], ...times })
    const daily = await made({ name: 'Daily', channelIds: [started.id], recurrence: 'RRULE:FREQ=DAILY', ...times })
    clock.advance(Date.parse('2030-05-10T10:00:00.400Z') - clock.now())
    const path = `/schedulers/${daily.id}`
    expect(await live.made('PATCH', `/schedulers/${once.id}`, { name: 'Named' })).toMatchObject({ status: 'active' })
    expect(await refused('POST', `${path}/start`)).toMatchObject({ status: 409, code: 'scheduler_active' })
    await at('2030-05-10T11:00:00Z')
    expect(await runsOf(edited.engineIds[0])).toEqual(['10:00-11:00 scheduler scheduler'])
    expect(await runsOf(started.engineIds[0])).toEqual(['10:00-11:00 scheduler scheduler'])
    await live.v2('DELETE', path)
  })

  test('takes fields back as they were read, and reports that an edit leaves nothing to come', async () => {
    const { id, engineIds } = await channelWith()
    const recurrence = 'RRULE:FREQ=DAILY'
    const times = { startDate: '2030-05-20', startTime: '10:00', endTime: '11:00', timeZone: 'UTC', recurrence }
    const channels = [{ channelId: id, engineIds }]
    const scheduler = await made({ name: 'Whole', channels, ...times })
    const path = `/schedulers/${scheduler.id}`
    await at('2030-05-20T10:00:00Z')
    const { startDate, startTime, timeZone } = await read(scheduler.id)
    const same = { startDate, startTime, timeZone, recurrence, channels: [{ engineIds, channelId: id }] }
    expect(await live.made('PATCH', path, { name: 'Active', ...same })).toMatchObject({ status: 'active' })
    await at('2030-05-20T11:00:00Z')
    expect(await live.made('PATCH', path, { name: 'Idle', ...same })).toMatchObject({ status: 'idle' })
    expect(await live.made('PATCH', path, { endDate: '2030-05-20' })).toMatchObject({ status: 'terminated' })
    const events = (await live.v2('GET', '/logs?type=scheduler.terminated&limit=1')).json.data
    expect(events[0].requestData.object.id).toBe(scheduler.id)
  })

  test('that has begun takes another time and zone, which counts from its next occurrence on', async () => {
    const { id, engineIds } = await channelWith()
    const times = { startDate: '2030-05-22', startTime: '10:00', endTime: '11:00', recurrence: 'RRULE:FREQ=DAILY' }
    const scheduler = await made({ name: 'Moved', channelIds: [id], ...times })
    const path = `/schedulers/${scheduler.id}`
    await at('2030-05-22T10:00:00Z')
    await at('2030-05-22T11:00:00Z')
    const moved = await live.made('PATCH', path, { startTime: '20:00', endTime: '21:00', timeZone: 'Europe/Vienna' })
    expect(moved).toMatchObject({ startDate: '2030-05-22', nextStart: '2030-05-22T18:00:00.000Z' })
    await at('2030-05-22T18:00:00Z')
    await at('2030-05-22T19:00:00Z')
    expect(await runsOf(engineIds[0])).toEqual(['10:00-11:00 scheduler scheduler', '18:00-19:00 scheduler scheduler'])
    const past = { startDate: '2030-05-21' }
    expect(await refused('PATCH', path, past)).toMatchObject({ status: 400, path: 'startDate' })
    await live.v2('DELETE', path)
  })

  test('begins at its time after a clock that was ahead for a month has been put right', async () => {
    const { id, engineIds } = await channelWith()
    const times = { startDate: '2030-05-25', startTime: '10:00', endTime: '11:00', recurrence: 'RRULE:FREQ=DAILY' }
    const scheduler = await made({ name: 'Steady', channelIds: [id], ...times })
    for (const byMs of [30 * 24 * HOUR, -30 * 24 * HOUR]) {
      clock.setWall(byMs)
      await runSchedulers(live.running.app.ctx)
      await putSchedulersRight(live.running.app.ctx)
    }
    expect(await read(scheduler.id)).toMatchObject({ nextStart: '2030-05-25T10:00:00.000Z', skipped: [] })
    await at('2030-05-25T10:00:00Z')
    await at('2030-05-25T11:00:00Z')
    expect(await runsOf(engineIds[0])).toEqual(['10:00-11:00 scheduler scheduler'])
    await live.v2('DELETE', `/schedulers/${scheduler.id}`)
  })

  test('leaves engines running that a user has started, and a user can stop it before its end', async () => {
    const { id, engineIds } = await channelWith()
    const times = { startDate: '2030-06-01', startTime: '10:00', endTime: '11:00' }
    await made({ name: 'Polite', channels: [{ channelId: id }], ...times })
    await at('2030-06-01T09:00:00Z')
    await live.v2('POST', `/channels/${id}/start`)
    await at('2030-06-01T10:00:00Z')
    await at('2030-06-01T11:00:00Z')
    expect(await runsOf(engineIds[0])).toEqual(['09:00-now api'])
    await live.v2('POST', `/channels/${id}/stop`)
    expect(await runsOf(engineIds[0])).toEqual(['09:00-11:00 api api'])
  })

  test('leaves engines running that a user started again while they ran, also after a crash, until a user stops them', async () => {
    const { id, engineIds } = await channelWith(2)
    const times = {
      startDate: '2030-06-10',
      startTime: '10:00',
      endTime: '11:00',
      recurrence: 'RRULE:FREQ=DAILY;COUNT=2',
    }
    const scheduler = await made({ name: 'Overtime', channels: [{ channelId: id }], ...times })
    await at('2030-06-10T10:00:00Z')
    expect((await live.v2('POST', `/engines/${engineIds[0]}/start`)).status).toBe(204)
    const { store } = live.running.app.ctx
    await expect.poll(async () => (await store.read.engineStates.get(engineIds[0] ?? ''))?.node).not.toBeNull()
    const state = await store.read.engineStates.get(engineIds[0] ?? '')
    // As if the node had died: another one takes the engine, in a new run.
    const { ctx } = live.running.app
    const other = { node: 'another node', isGone: () => true, leaseMs: 15_000 }
    const keeper = new EngineSupervisor({
      ...other,
      records: engineRecords(ctx, other),
      transcoder: { launch: () => undefined, kill: async () => undefined, isRunning: () => true },
      load: { noticeFor: () => [] },
      leases: unrenewed,
      takes: () => true,
      log: ctx.log,
    })
    await keeper.reconcile()
    expect((await store.read.engineStates.get(engineIds[0] ?? ''))?.runId).not.toBe(state?.runId)
    await at('2030-06-10T11:00:00Z')
    expect((await runsOf(engineIds[0])).at(-1)).toBe('10:00-now scheduler')
    expect((await runsOf(engineIds[1])).at(-1)).toBe('10:00-11:00 scheduler scheduler')
    const [run] = (await live.v2('GET', `/engines/${engineIds[0]}/runs`)).json.data
    const cause = { startId: scheduler.id, startName: 'Overtime', keptBy: expect.stringMatching(/^credential:\d+$/) }
    expect(run).toMatchObject({ ...cause, startType: 'scheduler' })

    await at('2030-06-10T11:30:00Z')
    await live.v2('POST', `/channels/${id}/stop`)
    await at('2030-06-11T10:00:00Z')
    await at('2030-06-11T11:00:00Z')
    // The user's start applies to one run.
    expect((await runsOf(engineIds[0])).at(-1)).toBe('10:00-11:00 scheduler scheduler')
    await keeper.stop()
  })

  test('no longer names a deleted channel or engine, and terminates when no target is left', async () => {
    const [first, second] = [await channelWith(2), await channelWith()]
    const times = { startDate: '2030-06-20', startTime: '10:00', endTime: '11:00' }
    const [one, other] = first.engineIds
    const both = await made({ name: 'Both', channels: [{ channelId: first.id }, { channelId: second.id }], ...times })
    const part = await made({ name: 'Part', channels: [{ channelId: first.id, engineIds: [one, other] }], ...times })
    const whole = await made({ name: 'Whole', channelIds: [first.id], ...times })
    await live.v2('DELETE', `/engines/${one}`)
    expect((await read(part.id)).channels).toEqual([{ channelId: first.id, engineIds: [other] }])
    await live.v2('DELETE', `/engines/${other}`)
    // An absent list would mean all engines of the channel.
    expect(await read(part.id)).toMatchObject({ channels: [], status: 'terminated' })
    expect(await read(whole.id)).toMatchObject({ channels: [{ channelId: first.id }], status: 'idle' })
    expect((await live.v2('DELETE', `/channels/${first.id}`)).status).toBe(204)
    const gone = await read(whole.id)
    expect(gone).toMatchObject({ channels: [], channelIds: [], status: 'terminated' })
    expect(gone.nextStart).toBeUndefined()
    expect(await read(both.id)).toMatchObject({ channelIds: [second.id], status: 'idle' })
    const rows = await live.running.app.ctx.store.read.audit.recent(live.running.accountId, 20)
    const edits = rows.filter(({ action }) => action === 'scheduler.updated').map(({ subject }) => subject)
    const edited = Object.fromEntries(
      [part, whole, both].map((one) => [one.id, edits.filter((of) => of === one.id).length]),
    )
    expect(edited).toEqual({ [part.id]: 2, [whole.id]: 1, [both.id]: 1 })
    await at('2030-06-20T10:00:00Z')
    expect(await runsOf(second.engineIds[0])).toEqual(['10:00-now scheduler'])
    await at('2030-06-20T11:00:00Z')
  })

  test('reports that it starts nothing, and refuses a manual start', async () => {
    const { id, engineIds } = await channelWith()
    const times = { startDate: '2030-06-25', startTime: '10:00', endTime: '11:00' }
    const scheduler = await made({ name: 'Empty', channelIds: [id], ...times })
    await live.made('PATCH', `/engines/${engineIds[0]}`, { ingestId: null })
    expect(await refused('POST', `/schedulers/${scheduler.id}/start`)).toMatchObject({
      status: 409,
      code: 'engine_not_ready',
    })
    expect(await read(scheduler.id)).toMatchObject({ status: 'idle', skipped: [] })
    await at('2030-06-25T10:00:00Z')
    const reason = 'none of its channels has an engine with an ingest'
    expect(await read(scheduler.id)).toMatchObject({ status: 'active', skipped: [{ reason }] })
    await at('2030-06-25T11:00:00Z')
  })

  test('is started and stopped by hand, in the states that allow it', async () => {
    const { id, engineIds } = await channelWith()
    const times = {
      startDate: '2030-07-01',
      startTime: '10:00',
      endTime: '11:00',
      recurrence: 'RRULE:FREQ=DAILY;COUNT=2',
    }
    const scheduler = await made({ name: 'Hand', channelIds: [id], ...times })
    const path = `/schedulers/${scheduler.id}`
    expect(await refused('POST', `${path}/stop`)).toMatchObject({ status: 409, code: 'scheduler_not_active' })
    await at('2030-07-01T09:00:00Z')
    expect((await live.v2('POST', `${path}/start`)).status).toBe(204)
    expect(await refused('POST', `${path}/start`)).toMatchObject({ status: 409, code: 'scheduler_active' })
    expect(await refused('DELETE', path)).toMatchObject({ status: 409, code: 'scheduler_active' })
    expect(await refused('PATCH', path, { startTime: '12:00' })).toMatchObject({
      status: 409,
      code: 'scheduler_active',
    })
    expect(await live.made('PATCH', path, { name: 'Hands', endTime: '10:45' })).toMatchObject({
      name: 'Hands',
      status: 'active',
    })
    await at('2030-07-01T10:00:00Z')
    await at('2030-07-01T10:45:00Z')
    await at('2030-07-02T10:00:00Z')
    expect((await live.v2('POST', `${path}/stop`)).status).toBe(204)
    expect(await runsOf(engineIds[0])).toEqual(['09:00-10:45 scheduler scheduler', '10:00-10:00 scheduler scheduler'])
    expect(await read(scheduler.id)).toMatchObject({ status: 'terminated' })
  })

  test('skips due occurrences while it is disabled', async () => {
    const { id, engineIds } = await channelWith()
    const times = { startDate: '2030-08-01', startTime: '10:00', endTime: '11:00', enabled: false }
    const scheduler = await made({ name: 'Off', channels: [{ channelId: id }], ...times })
    await at('2030-08-01T10:00:00Z')
    expect(await runsOf(engineIds[0])).toEqual([])
    const { status, skipped } = await read(scheduler.id)
    expect([status, skipped.length, skipped[0].reason]).toEqual(['terminated', 1, 'the scheduler was disabled'])
  })
})

test('many nodes run schedulers at once and only one of them acts', async () => {
  const { id, engineIds } = await channelWith()
  const times = { startDate: '2030-09-01', startTime: '10:00', endTime: '11:00' }
  await made({ name: 'Once', channels: [{ channelId: id }], ...times })
  clock.advance(Date.parse('2030-09-01T10:00:00Z') - clock.now())
  await Promise.all(Array.from({ length: 8 }, () => runSchedulers(live.running.app.ctx)))
  expect(await runsOf(engineIds[0])).toEqual(['10:00-now scheduler'])
  await at('2030-09-01T11:00:00Z')
})

describe('refusals', () => {
  const inAnHour = () => ({ startDate: new Date(clock.now() + HOUR).toISOString().slice(0, 10), startTime: '23:59' })

  test('of invalid fields name their paths', async () => {
    const { id } = await channelWith()
    const valid = { name: 'X', ...inAnHour(), channels: [{ channelId: id }] }
    const cases: [object, string][] = [
      [{ ...valid, startDate: '2020-01-01' }, 'startDate'],
      [{ ...valid, timeZone: 'Mars/Olympus' }, 'timeZone'],
      [{ ...valid, recurrence: 'RRULE:FREQ=HOURLY' }, 'recurrence'],
      [{ ...valid, recurence: 'RRULE:FREQ=DAILY' }, 'recurence'],
      [{ ...valid, channels: [{ channelId: 'ch_nothing' }] }, 'channels[0].channelId'],
      [{ ...valid, channels: [{ channelId: id, engineIds: ['en_nothing'] }] }, 'channels[0].engineIds'],
      [{ ...valid, channels: [] }, 'channels'],
      [{ ...valid, channels: undefined }, 'channels'],
    ]
    for (const [body, path] of cases) {
      expect(await refused('POST', '/schedulers', body)).toEqual({ status: 400, code: 'validation_failed', path })
    }
    expect(await refused('GET', '/schedulers/sc_nothing')).toMatchObject({ status: 404, code: 'not_found' })
    expect(await refused('GET', '/schedulers?sortBy=size')).toMatchObject({ status: 400, path: 'sortBy' })
  })

  test('of a cursor from another order', async () => {
    const { id } = await channelWith()
    for (const name of ['C', 'A', 'B']) await made({ name, ...inAnHour(), channelIds: [id] })
    const first = (await live.v2('GET', '/schedulers?sortBy=name&status=idle&limit=2')).json
    expect(first.data.map((one: { name: string }) => one.name)).toEqual(['A', 'B'])
    const { cursor } = first.pagination
    const next = (await live.v2('GET', `/schedulers?sortBy=name&status=idle&limit=2&cursor=${cursor}`)).json
    expect(next).toMatchObject({ data: [{ name: 'C' }], pagination: { hasMore: false } })
    const other = await refused('GET', `/schedulers?sortBy=name&sortDirection=desc&status=idle&cursor=${cursor}`)
    expect(other).toMatchObject({ status: 400, code: 'invalid_cursor' })
  })
})
