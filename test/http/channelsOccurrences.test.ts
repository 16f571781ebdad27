import { afterAll, beforeAll, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { besideServer, run } from '../cli/fakeHost.ts'
import { type ChannelsClient, runChannels, strangerOf } from '../support/channelsClient.ts'

const NOON = Date.parse('2030-03-30T12:00:00Z')

let client: ChannelsClient
let channelId: string
const clock = new ManualClock(NOON)
beforeAll(async () => {
  client = await runChannels({ clock })
  const engines = [{ name: 'Main', region: 'local', quality: { abrLadderId: 'ab_default' } }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', region: 'local', engines }]
  channelId = (await client.made('POST', '/channels', { name: 'Stage', timeout: 0, ingests })).id
})
afterAll(() => client.close())

const daily = async (over: object = {}): Promise<string> => {
  const times = { startDate: '2030-03-30', startTime: '15:00', endTime: '15:30', timeZone: 'Europe/Vienna' }
  const body = { name: 'Daily', channels: [{ channelId }], recurrence: 'RRULE:FREQ=DAILY', ...times, ...over }
  return (await client.made('POST', '/schedulers', body)).id
}
const occurrences = async (id: string, query = '') =>
  (await client.v2('GET', `/schedulers/${id}/occurrences${query}`)).json

test('are those of the plan, across a clock change, in the asked time', async () => {
  const id = await daily()
  const { data } = await occurrences(id, '?from=2030-03-30T14:15:00Z&until=2030-04-01T13:00:00Z')
  // At the begin of summer time the hour moves.
  expect(data).toEqual([
    { start: '2030-03-30T14:00:00.000Z', end: '2030-03-30T14:30:00.000Z' },
    { start: '2030-03-31T13:00:00.000Z', end: '2030-03-31T13:30:00.000Z' },
  ])
  expect((await occurrences(id)).data).toHaveLength(31)
  expect((await occurrences(id, '?from=2031-01-01&until=2032-01-01')).data).toHaveLength(365)
  expect((await occurrences(id, '?from=2029-01-01&until=2030-01-01')).data).toEqual([])
})

test('say which one is under way, and have no end where a person ends them', async () => {
  const id = await daily({ endTime: undefined, recurrence: 'RRULE:FREQ=DAILY;COUNT=2' })
  await client.v2('POST', `/schedulers/${id}/start`)
  expect((await occurrences(id)).data).toEqual([
    { start: '2030-03-30T14:00:00.000Z', active: true },
    { start: '2030-03-31T13:00:00.000Z' },
  ])
  await client.v2('POST', `/schedulers/${id}/stop`)
})

test('say of one that was begun and ended by hand before its time that it will not begin, and what an edit makes of it', async () => {
  const id = await daily({ recurrence: 'RRULE:FREQ=DAILY;COUNT=2' })
  const byHand = async (...words: string[]) => {
    for (const word of words) await client.v2('POST', `/schedulers/${id}/${word}`)
  }
  const [skipped, second] = ['it was begun by hand before its time', '2030-03-31T13:00:00.000Z']
  const first = { start: '2030-03-30T14:00:00.000Z', end: '2030-03-30T14:30:00.000Z' }
  await byHand('start', 'stop')
  expect((await occurrences(id)).data).toMatchObject([{ ...first, skipped }, { start: second }])
  expect(await client.made('GET', `/schedulers/${id}`)).toMatchObject({ nextStart: second })
  // Before the one that was begun by hand: it is another one.
  const earlier = await client.made('PATCH', `/schedulers/${id}`, { startTime: '14:00' })
  expect(earlier).toMatchObject({ nextStart: '2030-03-30T13:00:00.000Z' })
  expect((await occurrences(id)).data[0]).not.toHaveProperty('skipped')
  await byHand('start', 'stop', 'start', 'stop')
  // Nothing is left of it, and nothing but these is listed.
  const over = await client.made('GET', `/schedulers/${id}`)
  expect(over).toMatchObject({ status: 'terminated' })
  expect((await occurrences(id)).data).toMatchObject([{ skipped }, { skipped }])
})

test('are none of those to come when the channel of the scheduler is deleted', async () => {
  const gone = (await client.made('POST', '/channels', { name: 'Gone' })).id
  const id = await daily({ channels: [{ channelId: gone }] })
  await client.v2('DELETE', `/channels/${gone}`)
  expect((await occurrences(id)).data).toEqual([])
})

test.each([
  ['?from=soon', 'from'],
  ['?from=2030-01-01&until=2031-02-01', 'until'],
  ['?from=2030-01-02&until=2030-01-01', 'until'],
  ['?start=2030-01-01', 'start'],
])('refuse %s by name', async (query, path) => {
  const id = await daily()
  const { status, json } = await client.v2('GET', `/schedulers/${id}/occurrences${query}`)
  expect([status, json.details.map((one: { path: string }) => one.path)]).toEqual([400, [path]])
})

test('are not shown to a stranger', async () => {
  const id = await daily()
  const authorization = await strangerOf(client)
  const { status } = await client.v2('GET', `/schedulers/${id}/occurrences`, undefined, { authorization })
  expect(status).toBe(404)
})

test('schedulers are listed by the channel that they start', async () => {
  const other = (await client.made('POST', '/channels', { name: 'Other' })).id
  const id = await daily({ channels: [{ channelId: other }] })
  const { json } = await client.v2('GET', `/schedulers?channelId=${other}`)
  expect(json.data.map((one: { id: string }) => one.id)).toEqual([id])
  const wrong = await client.v2('GET', '/schedulers?channelId=x')
  expect([wrong.status, wrong.json.details[0].path]).toEqual([400, 'channelId'])
})

test('the command line creates, lists, switches, starts, stops and deletes schedulers', async () => {
  const { app, accountId } = client.running
  const cli = (...argv: string[]) => run(['scheduler', ...argv, '--account', accountId], besideServer(app, app.config))
  const mine = {
    name: 'Evening',
    timeout: 0,
    ingests: [
      { name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main', quality: { abrLadderId: 'ab_default' } }] },
    ],
  }
  const channel = (await client.made('POST', '/channels', mine)).id as string
  const times = ['--date', '2031-03-31', '--time', '20:15', '--end-time', '22:00', '--time-zone', 'Europe/Vienna']
  const { status, stdout } = await cli('create', '--name', 'Show', '--channel', channel, ...times)
  expect(status).toBe(0)
  const id = stdout.trim()
  expect(await client.made('GET', `/schedulers/${id}`)).toMatchObject({
    name: 'Show',
    nextStart: '2031-03-31T18:15:00.000Z',
  })
  const listed = async () => JSON.parse((await cli('list', '--channel', channel, '--json')).stdout)
  expect(await listed()).toMatchObject([{ id, status: 'idle', enabled: true }])
  for (const [verb = '', now] of [
    ['disable', { enabled: false }],
    ['enable', { enabled: true }],
    ['start', { status: 'active' }],
    ['stop', { status: 'terminated' }],
  ] as const) {
    expect(await cli(verb, id), verb).toMatchObject({ status: 0, stdout: '' })
    expect(JSON.parse((await cli('show', id, '--json')).stdout), verb).toMatchObject(now)
  }
  expect(await cli('delete', id)).toMatchObject({ status: 0 })
  expect(await listed()).toEqual([])
  expect(await cli('stop', id)).toMatchObject({ status: 1 })
  const wrong = await cli('create', '--name', 'Show', '--channel', channel, '--date', '31.3.2031', '--time', '20:15')
  expect(wrong).toMatchObject({ status: 1, stderr: expect.stringContaining('startDate: ') })
})
