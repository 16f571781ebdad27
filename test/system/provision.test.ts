import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { createDistribution } from '../../src/commands/channels/distributions.ts'
import { cliActor } from '../../src/commands/context.ts'
import { loadConfig } from '../../src/config/load.ts'
import { silentLog } from '../support/log.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { command, newDirectory } from './cliProcess.ts'

const VALUE = 'ab'.repeat(32)
const SECRET = Buffer.alloc(32, 7).toString('base64')
const FILE = `publishTokens:
  encoder:
    label: Encoder
    streams: [{ streamName: show }]
    hlsCodecs: h264
    value: { valueFrom: { env: ENCODER_TOKEN } }
subscribeTokens:
  guests:
    label: Guests
    streams: [{ streamName: '.*', isRegex: true }]
webhooks:
  backend:
    url: https://hooks.example.com/sluice
    isFeedHooks: true
    secret: { valueFrom: { file: SECRET_FILE } }
channels:
  main:
    name: Main stage
    timeout: 600
    ingests:
      - name: Studio
        type: rtmp-push
        engines: [{ name: First, priority: 1 }]
    distributions: [{ name: Everybody }]
`

describe.each(testedStores())('provisioning on %s from files', (engine) => {
  const data = newDirectory()
  const folder = join(data, 'provision')
  let place: Place

  const write = (text: string) =>
    writeFileSync(join(folder, 'all.yaml'), text.replace('SECRET_FILE', join(data, 'secret.txt')))
  const env = () => ({ SLUICE_STORAGE_URL: place.url, SLUICE_PROVISION_FOLDER: folder })
  const run = (...argv: string[]) => command([...argv, '--data', data], { env: env() })
  const lines = async (...argv: string[]) => (await run('provision', ...argv)).stdout.trim().split('\n')
  const idOf = async (kind: 'publish' | 'subscribe') => String((await json('token', 'list', '--kind', kind))[0].id)
  const json = async (...argv: string[]) => JSON.parse((await run(...argv, '--json')).stdout)

  /** As the API does it: a distribution that is in no file. */
  async function addByHand(channelId: string): Promise<void> {
    const config = loadConfig({ env: env(), flags: { data: { dir: data } } })
    if (!config.ok) throw new Error(JSON.stringify(config.error))
    const app = await openApp({ config: config.value, log: silentLog })
    const [account] = await app.ctx.store.read.accounts.list()
    const made = await createDistribution(app.ctx, cliActor(account?.id ?? ''), channelId, { name: 'By hand' })
    await app.close()
    expect(made.ok).toBe(true)
  }

  beforeAll(async () => {
    place = await newPlace(engine)
    mkdirSync(folder)
    writeFileSync(join(data, 'secret.txt'), `${SECRET}\n`)
    process.env['ENCODER_TOKEN'] = VALUE
    write(FILE)
  })
  afterAll(async () => {
    await place.remove()
    rmSync(data, { recursive: true })
  })
  beforeEach(() => write(FILE))

  test('diff shows what apply makes, without secrets, and makes nothing', async () => {
    const shown = await lines('diff')
    expect(shown.filter((line) => !line.startsWith(' '))).toEqual([
      'would create publishTokens.encoder',
      'would create subscribeTokens.guests',
      'would create webhooks.backend',
      'would create channels.main',
    ])
    expect(shown.join('\n')).not.toMatch(new RegExp(`${VALUE}|${SECRET.slice(0, 20)}`))
    expect(await json('channel', 'list')).toEqual([])
    expect((await lines('apply'))[0]).toBe('created publishTokens.encoder')
  })

  test('a second apply changes nothing and leaves no audit row', async () => {
    expect(await lines('apply')).toEqual(['nothing changed'])
    expect(await lines('diff', '--prune')).toEqual(['nothing changed'])
  })

  test('values of secrets come from the environment and from files', async () => {
    expect(await json('token', 'show', await idOf('publish'))).toMatchObject({ token: VALUE, label: 'Encoder' })
    expect((await json('webhook', 'list'))[0]).toMatchObject({ secret: SECRET, isFeedHooks: true })
    process.env['ENCODER_TOKEN'] = 'cd'.repeat(32)
    const changed = await lines('apply')
    process.env['ENCODER_TOKEN'] = VALUE
    expect(changed).toEqual(['updated publishTokens.encoder', '  value: "(hidden)"'])
    expect(await json('token', 'show', await idOf('publish'))).toMatchObject({ token: 'cd'.repeat(32) })
    await lines('apply')
  })

  test('changed settings are updated, added parts are made, and what was changed by hand is set again', async () => {
    await run('webhook', 'update', String((await json('webhook', 'list'))[0].id), '--event', 'recording')
    write(
      FILE.replace('{ streamName: show }', '{ streamName: stage }')
        .replace('timeout: 600', 'timeout: 900')
        .replace('{ name: First, priority: 1 }', '{ name: First, priority: 2 }, { name: Spare }'),
    )
    expect(await lines('apply')).toEqual([
      'updated publishTokens.encoder',
      '  streams: [{"streamName":"show","isRegex":false}] becomes [{"streamName":"stage"}]',
      'updated webhooks.backend',
      '  isFeedHooks: false becomes true',
      'updated channels.main',
      '  timeout: 600 becomes 900',
      '  ingests: "(hidden)"',
    ])
    const [channel] = await json('channel', 'list')
    const { engines, ingests } = await json('channel', 'show', channel.id)
    expect(engines.map(({ name, priority }: { name: string; priority: number }) => [name, priority])).toEqual(
      expect.arrayContaining([
        ['First', 2],
        ['Spare', 0],
      ]),
    )
    expect(ingests).toHaveLength(1)
    expect(await lines('apply')).toEqual(['nothing changed'])
  })

  test('parts that no file names any more are listed, and deleted only with --prune; parts made by hand stay', async () => {
    const [channel] = await json('channel', 'list')
    const partsNow = async () => {
      const { ingests, engines, distributions } = await json('channel', 'show', channel.id)
      return [ingests, engines, distributions].map((list: { name: string }[]) => list.map(({ name }) => name).sort())
    }
    const backup = `
      - name: Backup
        type: rtmp-push
        engines: [{ name: Second }]`
    const two = '{ name: Everybody }, { name: Partners }'
    write(
      FILE.replace('    distributions:', `${backup.slice(1)}\n    distributions:`).replace('{ name: Everybody }', two),
    )
    await lines('apply', '--prune')
    await addByHand(channel.id)
    const all = [
      ['Backup', 'Studio'],
      ['First', 'Second'],
      ['By hand', 'Everybody', 'Partners'],
    ]
    expect(await partsNow()).toEqual(all)
    expect(await lines('apply', '--prune')).toEqual(['nothing changed'])

    write(FILE)
    const gone = ['distributions.Partners', 'ingests.Backup.engines.Second', 'ingests.Backup']
    const said = (text: string) => gone.map((part) => `${text} channels.main.${part}`)
    expect(await lines('diff')).toEqual(said('in no file any more, would stay:'))
    expect(await lines('apply')).toEqual(said('in no file any more, stays:'))
    expect(await lines('diff', '--prune')).toEqual(said('would delete'))
    expect(await partsNow()).toEqual(all)
    expect(await lines('apply', '--prune')).toEqual(said('deleted'))
    expect(await partsNow()).toEqual([['Studio'], ['First'], ['By hand', 'Everybody']])
    expect(await lines('apply', '--prune')).toEqual(['nothing changed'])
  })

  test('one wrong thing undoes all of it, and the answer names file, line and what is allowed', async () => {
    write(
      FILE.replace('label: Guests', 'label: Everyone').replace('isFeedHooks: true', 'isFeedHooks: 1\n    colour: red'),
    )
    const ran = await run('provision', 'apply')
    expect(ran.status).toBe(1)
    expect(ran.stdout).toContain(`${join(folder, 'all.yaml')}:14: webhooks.backend.isFeedHooks: `)
    expect(ran.stdout).toContain(`${join(folder, 'all.yaml')}:15: webhooks.backend.colour: `)
    expect(await json('token', 'show', await idOf('subscribe'), '--kind', 'subscribe')).toMatchObject({
      label: 'Guests',
    })
  })

  test('what is in no file any more is listed, and deleted only with --prune', async () => {
    write(FILE.slice(0, FILE.indexOf('webhooks:')))
    expect(await lines('apply')).toEqual(
      expect.arrayContaining([
        'in no file any more, stays: channels.main',
        'in no file any more, stays: webhooks.backend',
      ]),
    )
    expect(await json('webhook', 'list')).toHaveLength(1)
    expect(await lines('apply', '--prune')).toEqual(['deleted channels.main', 'deleted webhooks.backend'])
    expect([await json('webhook', 'list'), await json('channel', 'list')]).toEqual([[], []])
  })

  test('what was deleted by hand is made again', async () => {
    await lines('apply')
    await run('token', 'delete', await idOf('subscribe'), '--kind', 'subscribe')
    expect((await lines('apply')).slice(0, 1)).toEqual(['created subscribeTokens.guests'])
  })

  test.each([
    ['colours: {}', ':1: "colours" is not known; here are: account, accountDefaults, publishTokens'],
    ['webhooks:\n  "a b": {}', ':2: "a b" is no name'],
    [
      'webhooks:\n  a:\n    url: { valueFrom: { env: NO_SUCH_VARIABLE } }',
      ':3: webhooks.a.url: the environment variable NO_SUCH_VARIABLE',
    ],
    ['webhooks:\n  a:\n    url: { valueFrom: { vault: x } }', 'valueFrom takes one of: env: NAME, file: PATH'],
    ['a: &a {}\nwebhooks:\n  b: *a', 'is not a section of settings'],
    ['webhooks: [', 'cannot be read as YAML'],
    [
      'publishTokens:\n  a:\n    label: A\n    streams: [{ streamName: x }]\n    value: short',
      ':5: publishTokens.a.value: is not 64',
    ],
  ])('a file with %j is refused with its place', async (text, expected) => {
    write(text)
    const ran = await run('provision', 'diff')
    expect([ran.status, ran.stdout]).toEqual([1, expect.stringContaining(expected)])
  })
})

describe('a server', () => {
  const folder = newDirectory()
  let app: RunningApp

  afterAll(() => app.close())

  test('applies the files at its start and at a reload, as the actor provisioning; wrong ones refuse the reload', async () => {
    const file = join(folder, 'tokens.yaml')
    const guests = (label: string) =>
      writeFileSync(file, `subscribeTokens:\n  guests:\n    label: ${label}\n    streams: [{ streamName: show }]\n`)
    guests('Guests')
    app = await runApp({ flags: { provision: { folder } } })
    const token = async () => (await app.call('GET', '/api/subscribe_token/1')).json.data
    guests('Everyone')
    expect(await app.reload({ provision: { folder } })).toMatchObject({ ok: true })
    const [row] = await app.app.ctx.store.read.audit.recent(app.accountId, 1)
    expect(row).toMatchObject({ actor: { kind: 'provisioning' }, action: 'subscribe_token.update' })
    guests('[1]')
    const refused = await app.reload({ provision: { folder }, log: { level: 'error' } })
    expect(refused).toMatchObject({
      ok: false,
      problems: [expect.stringContaining(`${file}:3: subscribeTokens.guests.label`)],
    })
    expect(app.app.config.log.level).toBe('info')
    expect(await token()).toBeDefined()
  })

  test('does not start with a file that is wrong', async () => {
    writeFileSync(join(folder, 'more.yaml'), 'webhooks: 1\n')
    await expect(runApp({ flags: { provision: { folder } } })).rejects.toThrow('more.yaml:1: webhooks is not a section')
  })
})
