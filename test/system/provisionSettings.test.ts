import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { command, newDirectory } from './cliProcess.ts'

const PULL = '{ name: B, type: srt-pull, url: "srt://encoder.example.com:9000", streamKey: 0123456789abcdef }'

const SHOWN = 'rtsp://viewer:••••@camera.example.com/s'

/** Settings that files have and the API's create does not. */
describe.each(testedStores())('what only files say on %s', (engine) => {
  const root = newDirectory()
  const folder = join(root, 'files')
  let place: Place

  const write = (text: string) => writeFileSync(join(folder, 'all.yaml'), text)
  const run = (...argv: string[]) =>
    command([...argv, '--data', root], { env: { SLUICE_STORAGE_URL: place.url, SLUICE_PROVISION_FOLDER: folder } })
  const json = async (...argv: string[]) => JSON.parse((await run(...argv, '--json')).stdout)

  beforeAll(async () => {
    place = await newPlace(engine)
    mkdirSync(folder)
  })
  afterAll(async () => {
    await place.remove()
    rmSync(root, { recursive: true })
  })

  test.each([
    ['publishTokens', '{ expires: 5, expiresOn: "2090-01-01T00:00:00Z" }', 'expiresOn: must not stand beside expires'],
    ['publishTokens', '{ revokedJtis: [a] }', 'revokedJtis: unknown property'],
    ['publishTokens', '{ boundAddresses: [here] }', 'boundAddresses[0]: must be an IP address'],
    ['channels', '{ name: A, id: mine }', 'id: is no id of Sluice'],
    [
      'channels',
      '{ name: A, ingests: [{ name: B, type: rtmp-push, streamKey: short }] }',
      'ingests[0].streamKey: is not 16',
    ],
    [
      'channels',
      '{ name: A, ingests: [{ name: B, type: rtmp-push, streamKey: 7 }] }',
      'ingests[0].streamKey: is not 16',
    ],
    ['channels', `{ name: A, ingests: [${PULL}] }`, 'streamKey: is for ingests'],
    ['channels', '{ name: A, engines: 5 }', 'engines: must be a list'],
    [
      'channels',
      '{ name: A, ingests: 5, distributions: [{ closedWithoutKey: 1 }] }',
      'distributions[0].name: is required',
    ],
    [
      'channels',
      '{ name: A, distributions: [{ name: B, closedWithoutKey: 1 }] }',
      'closedWithoutKey: must be true or false',
    ],
    ['pulls', '{ tokenId: 7, streamName: a }', 'url: is required'],
    ['pulls', '{ token: none, streamName: a }', 'token: must be the name of a publish token in these files'],
    ['pulls', '{ token: a, tokenId: 1 }', 'token: must not stand beside tokenId'],
    ['schedulers', '{ name: A }', 'startDate: is required'],
    ['channelWebhooks', '{ secret: short }', 'secret: is not the base64'],
    ['abrLadders', '{ id: ab_default, name: A, video: [] }', 'id: is no id of Sluice'],
  ])('%s with %s are refused', async (kind, settings, expected) => {
    write(`${kind}:\n  one: ${settings}\n`)
    const ran = await run('provision', 'diff')
    expect([ran.status, ran.stdout]).toEqual([1, expect.stringContaining(expected)])
  })

  test('a pull names its token by the name in the files, and neither a plan nor the log has its password', async () => {
    const pull = (streamName: string, host: string) => `pulls:
  door: { token: studio, streamName: ${streamName}, url: "rtsp://viewer:camera-password@${host}/s", when: onDemand }
publishTokens:
  studio: { label: Studio, streams: [{ streamName: door }, { streamName: gate }] }
`
    write(pull('door', 'camera.example.com'))
    const made = await run('provision', 'apply')
    expect(made.stdout).toContain('pulls.door')
    expect((await run('provision', 'apply')).stdout).toBe('nothing changed\n')
    expect(await json('pull', 'list')).toMatchObject([{ streamName: 'door', when: 'onDemand', url: SHOWN }])
    write(pull('gate', 'other.example.com'))
    const plan = await run('provision', 'diff')
    expect(plan.stdout).toContain('gate')
    expect(`${made.stdout}${made.stderr}${plan.stdout}`).not.toContain('camera-password')
    expect((await run('provision', 'apply')).status).toBe(0)
    expect(await json('pull', 'list')).toMatchObject([{ streamName: 'gate', url: SHOWN.replace('camera.', 'other.') }])
    write('')
    expect((await run('provision', 'apply', '--prune')).stdout).toContain('pulls.door')
    expect(await json('pull', 'list')).toEqual([])
  })

  test('sections may stand in any order, all engines feed a new distribution, and a prune deletes all of it again', async () => {
    const ladder = 'ab_1BvTL3PCGW4dXdKwCqFkRe'
    const channel = 'ch_1BvTL3PCGW4dXdKwCqFkRe'
    write(`schedulers:
  daily: { name: Daily, startDate: '2020-01-01', startTime: '20:15', recurrence: RRULE:FREQ=DAILY, channelIds: [${channel}] }
channels:
  stage:
    id: ${channel}
    name: Stage
    ingests: [{ name: A, type: rtmp-push, region: local, engines: [{ name: E, quality: { abrLadderId: ${ladder} } }] }]
    distributions: [{ name: D }]
abrLadders:
  tall: { id: ${ladder}, name: Tall, video: [{ width: 720, height: 1280, bitrate: 2000000 }] }
`)
    expect((await run('provision', 'apply')).stdout).not.toContain('nothing was changed')
    expect((await run('provision', 'apply')).stdout).toBe('nothing changed\n')
    const { engines, distributions } = await json('channel', 'show', channel)
    expect(engines).toHaveLength(1)
    expect(distributions[0].endpoints.engineIds).toEqual([engines[0].id])
    write('')
    const things = ['schedulers.daily', 'channels.stage', 'abrLadders.tall']
    expect((await run('provision', 'apply', '--prune')).stdout).toBe(things.map((one) => `deleted ${one}\n`).join(''))
  })

  test('a setting that changes nothing is no difference', async () => {
    write(`publishTokens:
  studio:
    label: Studio
    streams: [{ streamName: show }]
    lowLatencyRtmp: false
    geoCascade: { isEnabled: true, clusters: [all] }
`)
    expect((await run('provision', 'apply')).stdout).toContain('created publishTokens.studio')
    expect((await run('provision', 'apply')).stdout).toBe('nothing changed\n')
    write('')
    await run('provision', 'apply', '--prune')
  })

  test('a value that something else has is refused with its place', async () => {
    const token = `label: A\n    streams: [{ streamName: show }]\n    value: ${'ab'.repeat(32)}\n`
    write(`publishTokens:\n  first:\n    ${token}  second:\n    ${token}`)
    const ran = await run('provision', 'apply')
    expect(ran.stdout).toContain(':7: publishTokens.second: A token with this value exists already')
    expect(await json('token', 'list', '--kind', 'publish')).toEqual([])
  })

  test('a stream key that a file changes replaces the old one', async () => {
    const keyed = (key: string) =>
      write(`channels:\n  keyed:\n    name: K\n    ingests: [{ name: A, type: rtmp-push, streamKey: ${key} }]\n`)
    const keyNow = async () => {
      const [channel] = await json('channel', 'list')
      const { ingests } = await json('channel', 'show', channel.id)
      return ingests.map(({ streamKey }: { streamKey: string }) => streamKey)
    }
    for (const key of ['a'.repeat(32), 'b'.repeat(32)]) {
      keyed(key)
      expect((await run('provision', 'apply')).stdout).toContain('channels.keyed')
      expect(await keyNow()).toEqual([key])
    }
  })
})
