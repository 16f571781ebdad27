import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.ts'
import { browserOf } from '../support/dashboard.ts'
import { clip } from '../support/clips.ts'
import { credential, type ChannelsClient, runChannels } from '../support/channelsClient.ts'

/** Parts of secret values: none of them may reach a credential of scope `read`. */
const SECRETS = {
  host: 'source.invalid',
  path: 'key-in-the-path',
  query: 'key-in-the-query',
  passphrase: 'passphrase-0123456789',
  streamId: 'name-in-the-streamid',
  receiver: 'key-of-the-receiver',
  viewerKey: 'viewer-key-0123456789-0123456789',
}

const { host, path: streamPath, query, passphrase, streamId } = SECRETS
const PULLS = [
  { type: 'rtmp-pull', url: `rtmp://${host}/app/${streamPath}?token=${query}` },
  { type: 'srt-pull', url: `srt://${host}:9000?passphrase=${passphrase}&streamid=${streamId}` },
]

let live: ChannelsClient
let reader: Record<string, string>
/** An id for every parameter in the interface's paths. */
const ids: Record<string, string> = {}
let streamKey = ''
let webhookSecret = ''

beforeAll(async () => {
  live = await runChannels({
    flags: { webhooks: { allowPrivateTargets: true }, media: { allowedNetworks: ['127.0.0.0/8'] } },
  })
  reader = { authorization: await credential(live.running, 'read') }
  const webhook = {
    name: 'Hook',
    url: `http://127.0.0.1:1/${SECRETS.receiver}`,
    events: ['*'],
    active: true,
  }
  const hook = await live.made('POST', '/webhooks', webhook)
  webhookSecret = (await live.made('GET', `/webhooks/${hook.id}/secret`)).secret
  const channel = await live.made('POST', '/channels', {
    name: 'Stage',
    ingests: [
      { name: 'Camera', type: 'rtmp-push' },
      ...PULLS.map((pull, at) => ({ name: `Far ${at}`, ...pull, engines: [{ name: `Main ${at}` }] })),
    ],
    distributions: [{ name: 'Web', security: { keys: [{ key: SECRETS.viewerKey }] } }],
  })
  const [push, pull] = channel.ingests
  const [engine] = channel.engines
  const [distribution] = channel.distributions
  streamKey = push.streamKey
  const scheduler = await live.made('POST', '/schedulers', {
    name: 'Daily',
    startDate: '2099-01-01',
    startTime: '09:00',
    channelIds: [channel.id],
  })
  Object.assign(ids, { channelId: channel.id, ingestId: pull.id, engineId: engine.id, distributionId: distribution.id })
  Object.assign(ids, { schedulerId: scheduler.id, webhookId: hook.id, regionId: 'local', ladderId: 'ab_default' })
  ids['keyId'] = distribution.security.keys[0].id
  await live.v2('PUT', `/channels/${channel.id}/slate`, image(), { 'content-type': 'image/png' })
  await live.v2('PATCH', `/ingests/${pull.id}`, { name: 'Farther' })
  await live.v2('POST', `/channels/${channel.id}/start`)
  const logged = async () => (await live.v2('GET', `/webhooks/${hook.id}/logs?limit=100`)).text
  await until(async () => (await logged()).includes('engine.log.warn'), 'a word of ffmpeg on its source')
  await until(async () => (await live.v2('GET', `/engines/${engine.id}`)).text.includes('statusMessage'), 'a message')
})
afterAll(() => live.close())

const image = (): Buffer => clip('-f lavfi -i testsrc2=s=320x180 -frames:v 1', 'png')

/** Every GET of the interface, with the ids of existing objects. */
async function everyGet(): Promise<string[]> {
  const { json } = await live.running.call('GET', '/v2/openapi.json')
  const paths = Object.entries(json.paths as Record<string, object>).filter(([, verbs]) => 'get' in verbs)
  return paths.map(([path]) =>
    path.replace(/^\/v2/, '').replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? `no ${name}`),
  )
}

const DAY = 'start=2026-01-01&end=2026-01-02'

function queryOf(path: string): string {
  if (/\/analytics\/.*(countries|tracking-ids)$/.test(path)) return `?${DAY}`
  if (path.includes('/analytics/')) return `?${DAY}&resolution=day`
  return /^\/channels\/\w+$/.test(path) ? '?include=ingests,engines,distributions' : ''
}

test('a credential of scope read never gets a stream key, source, passphrase or webhook secret', async () => {
  const paths = await everyGet()
  expect(paths.length).toBeGreaterThan(40)
  const [seen, answered]: [string[], string[]] = [[], []]
  for (const path of paths) {
    const [mine, theirs] = [
      await live.v2('GET', `${path}${queryOf(path)}`),
      await live.v2('GET', `${path}${queryOf(path)}`, undefined, reader),
    ]
    expect([path, mine.status]).toEqual([path, 200])
    seen.push(mine.text)
    answered.push(theirs.text)
    expect([path, theirs.status]).toEqual([path, path.endsWith('/secret') ? 403 : 200])
    for (const [what, secret] of Object.entries({ ...SECRETS, streamKey, webhookSecret })) {
      expect([path, what, theirs.text.includes(secret)]).toEqual([path, what, false])
    }
  }
  // Secrets that no answer ever shows prove nothing here.
  const shown = Object.entries({ ...SECRETS, streamKey, webhookSecret }).filter(([, secret]) =>
    seen.join('').includes(secret),
  )
  expect(shown.map(([what]) => what)).toEqual([
    ...Object.keys(SECRETS).filter((what) => what !== 'viewerKey'),
    'streamKey',
    'webhookSecret',
  ])
  expect(answered.join('')).toContain('engine.log.warn')
})

test('a viewer of the dashboard gets exactly what a credential of scope read gets, an admin the secrets', async () => {
  const [viewer, admin] = [await browserOf(live.running, 'viewer'), await browserOf(live.running)]
  const shown: string[] = []
  for (const path of await everyGet()) {
    const theirs = await viewer.call('GET', `/v2${path}${queryOf(path)}`)
    expect([path, theirs.status]).toEqual([path, path.endsWith('/secret') ? 403 : 200])
    for (const [what, secret] of Object.entries({ ...SECRETS, streamKey, webhookSecret })) {
      expect([path, what, theirs.text.includes(secret)]).toEqual([path, what, false])
    }
    shown.push((await admin.call('GET', `/v2${path}${queryOf(path)}`)).text)
  }
  for (const secret of [SECRETS.host, SECRETS.receiver, streamKey, webhookSecret])
    expect(shown.join('')).toContain(secret)
  const ingest = `/ingests/${ids['ingestId']}`
  const [viewed, read] = [await viewer.call('GET', `/v2${ingest}`), await live.v2('GET', ingest, undefined, reader)]
  expect(viewed.json).toEqual(read.json)
})

test('secret fields are absent for a credential of scope read, and all others are present', async () => {
  const { json } = await live.v2('GET', `/ingests/${ids['ingestId']}`, undefined, reader)
  expect(json.data).toMatchObject({ id: ids['ingestId'], name: 'Farther', type: 'rtmp-pull' })
  expect(Object.keys(json.data)).not.toContain('url')
  const listed = (await live.v2('GET', `/channels/${ids['channelId']}/ingests`, undefined, reader)).json.data
  const push = listed.find(({ type }: { type: string }) => type === 'rtmp-push')
  expect(push.url).toMatch(/^rtmp:\/\//)
  expect(Object.keys(push)).not.toContain('streamKey')
  const hook = await live.v2('GET', `/webhooks/${ids['webhookId']}`, undefined, reader)
  expect(hook.json.data.url).toBe('http://127.0.0.1:1/')
  const secret = await live.v2('GET', `/webhooks/${ids['webhookId']}/secret`, undefined, reader)
  expect(secret).toMatchObject({ status: 403, json: { code: 'insufficient_scope' } })
})
