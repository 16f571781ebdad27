import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { provisionFrom } from '../../src/app/provision.ts'
import type { OpenedApp } from '../../src/cli/host.ts'
import { admitPublisher } from '../../src/commands/sessions/admit.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { recheckLate } from '../../src/commands/sessions/revoke.ts'
import { changeDefaults } from '../../src/commands/accounts/defaults.ts'
import { cliActor, type Context } from '../../src/commands/context.ts'
import { overriding } from '../../src/store/nouns.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { type Ran, run } from '../cli/fakeHost.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { attemptOf, makeToken, publish, startTestNode, type TestNode, view } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const SECURITY = '/api/v3/account/security'
const DISTRIBUTION = '/api/v3/account/distribution'
const OPEN = { allowedCountries: [], deniedCountries: [] }
const NO_COUNTRY = { allowed: false, code: 'country_not_allowed' }

describe.each(testedStores())('what an account says for its tokens, on %s', (engine) => {
  let place: Place
  let at: TestNode
  beforeAll(async () => {
    place = await newPlace(engine)
    at = await startTestNode({ url: place.url, flags: { server: { region: 'phx-1' } } })
  })
  afterEach(async () => {
    for (const { session } of at.ctx.sessions.all()) await closeSession(at.ctx, session.id, 'left')
    await at.call('PUT', SECURITY, OPEN)
  })
  afterAll(async () => {
    await at.close()
    await place.remove()
  })

  const check = async (tokenId: number, country: string) => {
    const question = { action: 'publish', protocol: 'whip', streamName: 'show', ip: '192.0.2.1', country, tokenId }
    return (await at.call('POST', '/api/access/check', question)).json.data
  }

  it('holds for tokens without country rules, in the dry run with its reason, and in their records', async () => {
    const plain = await makeToken(at, 'publish')
    const own = await makeToken(at, 'publish', { allowedCountries: ['FR'] })
    const set = await at.call('PUT', SECURITY, { allowedCountries: ['de', 'DE', 'NL'], deniedCountries: [] })
    expect([set.status, set.json.data]).toEqual([200, { allowedCountries: ['DE', 'NL'], deniedCountries: [] }])
    expect((await at.call('GET', SECURITY)).json.data).toEqual(set.json.data)
    expect(await check(plain.id, 'DE')).toMatchObject({ allowed: true })
    const refused = await check(plain.id, 'FR')
    expect(refused).toMatchObject({ ...NO_COUNTRY, message: 'Unauthorized: Country not allowed' })
    expect(refused.trace.at(-1)).toEqual({
      check: 'country',
      outcome: 'fail',
      detail: 'FR is not in the list of allowed countries of the account',
    })
    expect(await check(own.id, 'FR')).toMatchObject({ allowed: true })
    expect(await check(own.id, 'DE')).toMatchObject(NO_COUNTRY)

    const settings = async (path: string) => (await at.call('GET', path)).json.data
    expect(await settings(`/api/publish_token/${plain.id}`)).toMatchObject({
      allowedCountries: [],
      effectiveSettings: { allowedCountries: ['DE', 'NL'], deniedCountries: [] },
    })
    expect(await settings(`/api/publish_token/${own.id}`)).toMatchObject({
      effectiveSettings: { allowedCountries: ['FR'], deniedCountries: [] },
    })
    const listed = await settings('/api/publish_token/list?itemsOnPage=100')
    expect(listed.map((token: { effectiveSettings: object }) => token.effectiveSettings)).toContainEqual(
      expect.objectContaining({ allowedCountries: ['DE', 'NL'] }),
    )
  })

  it('refuses new clients and ends the sessions that it no longer admits, and no others', async () => {
    const [plain, own] = [await makeToken(at, 'publish'), await makeToken(at, 'publish', { deniedCountries: ['FR'] })]
    const patient = await makeToken(at, 'publish', { endSessionsOnUpdate: false })
    const viewers = await makeToken(at, 'subscribe')
    const ending = await publish(at, { presented: plain.token, streamName: 'ends' })
    const staying = [
      await publish(at, { presented: own.token, streamName: 'own' }),
      await publish(at, { presented: patient.token, streamName: 'patient' }),
      // An open stream asks its viewers for no token, so there is none that the rules could hold for.
      await view(at, { streamName: 'own' }),
    ]
    const viewer = await view(at, { presented: viewers.token, streamName: 'own' })
    // The address of the test is of no known country, which an allow list refuses.
    await at.call('POST', '/api/geo/account', { allowedCountries: ['NZ'] })
    await until(() => ending.cuts.length > 0 && viewer.cuts.length > 0)
    expect([ending.cuts, viewer.cuts]).toEqual([['token_edited'], ['token_edited']])
    expect(staying.map(({ cuts }) => cuts)).toEqual([[], [], []])
    const again = () => admitPublisher(at.ctx, attemptOf({ presented: plain.token }), anyRequest())
    expect(await again()).toMatchObject({ ok: false, code: 'country_not_allowed' })
    const log = await at.call('GET', `/api/access/log?tokenId=${plain.id}&allowed=false&limit=1`)
    const entry = await at.call('GET', `/api/access/log/${log.json.data[0].id}`)
    expect(entry.json.data.trace.at(-1)).toMatchObject({ check: 'country', outcome: 'fail' })
    await at.call('PUT', SECURITY, { allowedCountries: [] })
    expect(await again()).toMatchObject({ ok: true })
  })

  it('takes effect on a client that was decided on before the change and comes in after it', async () => {
    const { token } = await makeToken(at, 'publish', { bindIpsOnUsage: 5 })
    // The binding of its address is written between the decision and the session.
    const entering = admitPublisher(
      duringBinding(at.ctx, () =>
        changeDefaults(at.ctx, cliActor(at.accountId), 'security', { allowedCountries: ['NZ'] }),
      ),
      attemptOf({ presented: token }),
      anyRequest(),
    )
    expect(await entering).toMatchObject({ ok: false, code: 'country_not_allowed' })
    expect(at.ctx.sessions.size).toBe(0)
  })

  it('cuts no client that is coming in while a change is followed that does not refuse it', async () => {
    const { id, token } = await makeToken(at, 'publish')
    const cuts: string[] = []
    // The session is in memory, and its transaction has not begun.
    const looked = vi.spyOn(at.ctx.cache, 'accountDefaults').mockImplementationOnce(async (accountId) => {
      at.ctx.sessions.unchecked.add(id)
      await recheckLate(at.ctx)
      return at.ctx.cache.accountDefaults(accountId)
    })
    const entering = admitPublisher(at.ctx, attemptOf({ presented: token }), anyRequest(cuts))
    expect(await entering).toMatchObject({ ok: true })
    expect([looked.mock.calls.length, cuts]).toEqual([2, []])
    looked.mockRestore()
  })

  it('is read in both spellings, stays where a body says nothing, and is audited', async () => {
    const put = async (body: object) => (await at.call('PUT', SECURITY, body)).json.data
    expect(await put({ updateAllowedCountries: [], updateDeniedCountries: ['FR'] })).toEqual({
      allowedCountries: [],
      deniedCountries: ['FR'],
    })
    expect(await put({ updateAllowedCountries: null, deniedCountries: ['FR', 'GB'] })).toMatchObject({
      deniedCountries: ['FR', 'GB'],
    })
    expect((await at.call('GET', '/api/geo/account')).json.data).toEqual({
      allowedCountries: [],
      deniedCountries: ['FR', 'GB'],
    })
    const [row] = await at.ctx.store.read.audit.recent(at.accountId, 1)
    expect(row).toMatchObject({ action: 'account.update', subject: at.accountId, actor: { kind: 'secret' } })
    expect(JSON.parse(row?.after ?? '')).toMatchObject({ deniedCountries: ['FR', 'GB'] })
  })

  it.each([
    ['nothing', {}, { account: ['No properties specified to update.'] }],
    ['no object', [], { body: [expect.any(String)] }],
    ['a country that is none', { allowedCountries: ['UK'] }, { 'allowedCountries[0]': [expect.stringMatching(/GB/)] }],
    ['both lists', { allowedCountries: ['DE'], deniedCountries: ['FR'] }, { deniedCountries: [expect.any(String)] }],
    [
      'two answers',
      { allowedCountries: ['DE'], updateAllowedCountries: ['FR'] },
      { allowedCountries: [expect.any(String)] },
    ],
    ['another field', { allowedOrigins: [] }, { allowedOrigins: [expect.stringMatching(/unknown property/)] }],
  ])('refuses %s', async (_name, body, errors) => {
    const refused = await at.call('PUT', SECURITY, body)
    expect([refused.status, refused.json.data.errors]).toEqual([400, errors])
    expect((await at.call('GET', SECURITY)).json.data).toEqual(OPEN)
  })

  /** Runs a command on this node's data, as its own process would. */
  async function sluice(...argv: string[]): Promise<Ran> {
    const app = { ctx: at.ctx, config: {}, close: async () => undefined } as unknown as OpenedApp
    return run(argv, { openApp: async () => app, provision: provisionFrom })
  }
  const show = async () => JSON.parse((await sluice('account', 'show', '--json')).stdout)
  const NOTHING = {
    ...OPEN,
    recordingDays: null,
    logAdmissions: false,
    defaultCluster: 'auto',
    geoCascade: { isEnabled: false, clusters: [] },
  }

  it('is shown and changed by commands, each setting by itself', async () => {
    expect(await show()).toEqual(NOTHING)
    const geoCascade = { isEnabled: true, clusters: ['phx-1'] }
    const flags = ['--deny-country', 'fr', '--recording-days', '30', '--geo-cascade', 'phx-1']
    expect((await sluice('account', 'update', ...flags)).stdout).toMatch(/deniedCountries +FR\n/)
    expect(await show()).toEqual({ ...NOTHING, deniedCountries: ['FR'], recordingDays: 30, geoCascade })
    await sluice('account', 'update', '--no-deny-country', '--country', 'DE')
    expect(await show()).toMatchObject({ allowedCountries: ['DE'], deniedCountries: [], recordingDays: 30, geoCascade })
    await sluice('account', 'update', '--no-country', '--recording-days', 'none', '--no-geo-cascade')
    expect(await show()).toEqual(NOTHING)
    const refused = async (...given: string[]) => (await sluice('account', 'update', ...given)).stderr
    expect(await refused()).toContain('there is nothing to change')
    expect(await refused('--country', 'DE', '--no-country')).toContain('--country and --no-country exclude each other')
    expect(await refused('--country', 'UK')).toContain('allowedCountries[0]')
    expect(await refused('--recording-days', '0')).toContain('none or a whole number from 1 to 365')
  })

  it('is set by files, which the next decision uses, and taken back with them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-defaults-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const apply = async (text: string, ...flags: string[]) => {
      writeFileSync(join(folder, 'all.yaml'), text)
      return (await sluice('provision', 'apply', '--folder', folder, ...flags)).stdout
    }
    const { id } = await makeToken(at, 'publish')
    expect(await check(id, 'FR')).toMatchObject({ allowed: true })
    const file = 'accountDefaults:\n  deniedCountries: [FR]\n  recordingDays: 30\n'
    expect(await apply(file)).toBe('created accountDefaults\n  deniedCountries: ["FR"]\n  recordingDays: 30\n')
    expect(await check(id, 'FR')).toMatchObject(NO_COUNTRY)
    expect(await apply(file)).toBe('nothing changed\n')
    expect(await apply(file.replace('30', '7'))).toBe('updated accountDefaults\n  recordingDays: 30 becomes 7\n')
    expect(await apply('accountDefaults:\n  recordingDays: 0\n')).toMatch(
      /all\.yaml:2: accountDefaults\.recordingDays: must be/,
    )
    expect(await apply('accountDefaults: [FR]\n')).toContain('accountDefaults is not a section of settings')
    expect(await show()).toEqual({ ...NOTHING, deniedCountries: ['FR'], recordingDays: 7 })
    expect(await apply('')).toContain('stays: accountDefaults')
    expect(await apply('', '--prune')).toBe('deleted accountDefaults\n')
    expect([await show(), await check(id, 'FR')]).toEqual([NOTHING, expect.objectContaining({ allowed: true })])
  })

  it('has admissions recorded from the switch on until it is switched off, over HTTP and by command', async () => {
    const ADMISSIONS = '/api/access/admissions'
    const { id, token } = await makeToken(at, 'publish')
    const admit = async (): Promise<void> => {
      const { session } = await publish(at, { presented: token })
      await closeSession(at.ctx, session.id, 'left')
    }
    const admitted = async () => {
      await at.ctx.recorder.flush()
      return (await at.call('GET', `/api/access/log?tokenId=${id}&allowed=true`)).json.data
    }
    const data = { isEnabled: false, rate: 0, rowsPerMinute: 240 }
    expect((await at.call('GET', ADMISSIONS)).json.data).toEqual(data)
    await admit()
    expect(await admitted()).toEqual([])

    const on = await at.call('PUT', ADMISSIONS, { isEnabled: true })
    expect([on.status, on.json.data]).toEqual([200, { ...data, isEnabled: true }])
    const [row] = await at.ctx.store.read.audit.recent(at.accountId, 1)
    expect([row?.action, JSON.parse(row?.before ?? ''), JSON.parse(row?.after ?? '')]).toMatchObject([
      'account.update',
      { logAdmissions: false },
      { logAdmissions: true },
    ])
    await admit()
    // A question is no admission.
    await at.call('POST', '/api/access/check', { action: 'publish', protocol: 'whip', streamName: 'show', tokenId: id })
    expect(await admitted()).toMatchObject([{ source: 'admission', action: 'publish', allowed: true }])

    expect((await sluice('account', 'update', '--log-admissions', 'off')).stdout).toMatch(/logAdmissions +off\n/)
    await admit()
    expect([(await admitted()).length, (await at.call('GET', ADMISSIONS)).json.data]).toEqual([1, data])
    expect((await at.call('PUT', ADMISSIONS, { isEnabled: 'yes' })).status).toBe(400)
  })

  it('admits clients while the store cannot say whether admissions are recorded', async () => {
    const { token } = await makeToken(at, 'publish')
    const asked = vi.spyOn(at.ctx.cache, 'logsAdmissions').mockRejectedValueOnce(new StoreUnavailable('gone'))
    expect(await admitPublisher(at.ctx, attemptOf({ presented: token }), anyRequest())).toMatchObject({ ok: true })
    expect(asked).toHaveBeenCalledOnce()
    asked.mockRestore()
  })

  it('refuses a second list beside the one that it has', async () => {
    await at.call('PUT', SECURITY, { deniedCountries: ['FR'] })
    const refused = await at.call('PUT', SECURITY, { allowedCountries: ['DE'] })
    expect([refused.status, Object.keys(refused.json.data.errors)]).toEqual([400, ['deniedCountries']])
    expect((await at.call('PUT', SECURITY, { allowedCountries: ['DE'], deniedCountries: [] })).status).toBe(200)
  })

  it('keeps the distribution of streams, in both forms and in any case', async () => {
    const off = { isEnabled: false, clusters: [] }
    expect((await at.call('GET', DISTRIBUTION)).json.data).toEqual({ geoCascade: off })
    const named = { isenabled: true, Clusters: ['phx-1'] }
    const set = { isEnabled: true, clusters: ['phx-1'] }
    expect((await at.call('PUT', DISTRIBUTION, { geocascade: named })).json.data).toEqual({ geoCascade: set })
    expect((await at.call('GET', '/api/account/geo_cascade')).json.data).toEqual(set)
    const older = await at.call('PUT', '/api/account/geo_cascade', { isEnabled: true, clusters: null })
    expect(older.json.data).toEqual({ isEnabled: true, clusters: ['all'] })
    expect((await at.call('GET', DISTRIBUTION)).json.data).toEqual({ geoCascade: older.json.data })
    for (const body of [{ isEnabled: true, clusters: [] }, { isEnabled: true, isenabled: false }, { clusters: ['a'] }])
      expect((await at.call('PUT', '/api/account/geo_cascade', body)).status).toBe(400)
    const none = await at.call('PUT', DISTRIBUTION, { geoCascade: { isEnabled: true, clusters: [] } })
    expect(none.json.data).toEqual({ message: 'Geo cascade Clusters list cannot be empty' })
    await at.call('PUT', DISTRIBUTION, { geoCascade: { isEnabled: false, clusters: ['phx-1'] } })
    expect((await at.call('GET', DISTRIBUTION)).json.data).toEqual({ geoCascade: off })
  })
})

const anyRequest = (cuts: string[] = []) => ({
  sourceId: null,
  cut: async ({ id }: { id: string }) => void cuts.push(id),
})

/** The same context, in which `work` is done once an address was bound, before the session is written. */
function duringBinding(ctx: Context, work: () => Promise<unknown>): Context {
  let isDone = false
  const store = overriding(ctx.store, {
    async transaction(task) {
      const done = await ctx.store.transaction(task)
      if (!isDone) {
        isDone = true
        await work()
      }
      return done
    },
  })
  return { ...ctx, store }
}
