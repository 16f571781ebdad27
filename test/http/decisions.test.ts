import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DecisionCase, loadDecisions, MESSAGES, signSelfSigned } from '../support/decisions.ts'
import { runApp, type RunningApp } from '../support/app.ts'

/** Other runners cover cases that need a store or a live feed in a state that the interface cannot set up. */
const isAskable = ({ token, request }: DecisionCase): boolean =>
  token.bound.length === 0 && request.present !== 'none' && isName(request.streamName)

const isName = (name: string): boolean => /^\P{Cc}{1,128}$/u.test(name)

const cases = loadDecisions().filter(isAskable)

describe('the decision table over HTTP', () => {
  const apps = new Map<string, RunningApp>()

  beforeAll(async () => {
    for (const policy of ['refuse', 'enforce'] as const)
      apps.set(policy, await runApp({ flags: { rtmp: { ipFilters: policy } } }))
  })
  afterAll(async () => {
    for (const app of apps.values()) await app.close()
  })

  it('covers most of the table', () => expect(cases.length).toBeGreaterThan(330))

  for (const test of cases) {
    it(`${test.file}: ${test.name}`, async () => {
      const sluice = apps.get(test.policy)
      if (!sluice) throw new Error('no such policy')
      await ask(sluice, test)
    })
  }
})

async function ask(sluice: RunningApp, test: DecisionCase): Promise<void> {
  const parent = await make(sluice, test)
  const { want } = test
  const body = questionOf(sluice, test, parent)
  const answer = await sluice.call('POST', '/api/access/check', body)
  if (test.request.accountId === 'foreign') {
    expect(answer.status).toBe(404)
    return
  }
  expect(answer.status, answer.text).toBe(200)
  const { allowed, code, message, trace } = answer.json.data
  const failed = trace.find((step: { outcome: string }) => step.outcome === 'fail')?.check
  if (want.allowed) expect({ allowed, code, failed }).toEqual({ allowed: true, code: 'allowed', failed: undefined })
  else {
    const expected = {
      allowed: false,
      code: want.code,
      message: want.message ?? MESSAGES[want.code ?? 'invalid_token'],
    }
    expect({ allowed, code, message }).toEqual(expected)
    if (want.failedCheck !== undefined) expect(failed).toBe(want.failedCheck)
  }
}

interface Parent {
  id: number
  value: string
  askedAtMs: number
}

/** Creates the token of a case, and disables it or revokes its children if the case says so. */
async function make(sluice: RunningApp, { token, revoked }: DecisionCase): Promise<Parent> {
  const { kind, expiresInSeconds, isActive, bound: _bound, tracking, subscribeRequiresAuth, ...rules } = token
  const own = kind === 'publish' ? { subscribeRequiresAuth } : { tracking }
  const expires = expiresInSeconds === null ? {} : { expires: VALID_SECONDS }
  const created = await sluice.call('POST', `/api/${kind}_token`, { label: 'case', ...rules, ...own, ...expires })
  expect(created.status, created.text).toBe(200)
  const { id, token: value, addedOn } = created.json.data
  const addedMs = Date.parse(addedOn)
  // Claims have whole seconds, so the request is made at a second that all of them allow.
  const askedAtMs =
    expiresInSeconds === null ? Math.ceil(addedMs / 1000) * 1000 : addedMs + (VALID_SECONDS - expiresInSeconds) * 1000
  if (!isActive) await sluice.call('PUT', `/api/${kind}_token/${id}`, { isActive: false })
  for (const jti of revoked.jtis) await revoke(sluice, id, { jti })
  if (revoked.issuedBeforeInSeconds !== null) {
    const issuedBefore = new Date(askedAtMs + revoked.issuedBeforeInSeconds * 1000).toISOString()
    await revoke(sluice, id, { issuedBefore })
  }
  return { id, value, askedAtMs }
}

const VALID_SECONDS = 100_000

async function revoke(sluice: RunningApp, id: number, body: object): Promise<void> {
  const answer = await sluice.call('POST', `/api/subscribe_token/${id}/revoke`, body)
  expect(answer.status, answer.text).toBe(200)
}

function questionOf(sluice: RunningApp, test: DecisionCase, parent: Parent): object {
  const { action, protocol, streamName, ip, origin, country, accountId, present } = test.request
  const presented = {
    token: parent.value,
    selfSigned: present === 'selfSigned' ? signSelfSigned(test, parent, parent.askedAtMs) : '',
    garbage: 'not-a-token',
    unknown: 'f'.repeat(64),
    none: null,
  }[present]
  return {
    action,
    protocol,
    streamName,
    ip,
    origin,
    token: presented,
    at: new Date(parent.askedAtMs).toISOString(),
    ...(country === null ? {} : { country }),
    ...(accountId === 'omitted' ? {} : { accountId: accountId === 'own' ? sluice.accountId : 'zzz999' }),
  }
}
