import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it } from 'vitest'
import type { PartialConfig } from '../../src/config/schema.ts'
import { headerProfile, verifySignature } from '../../src/delivery/signature.ts'
import { Authority } from '../delivery/support/certificates.ts'
import { httpReceiver, type Receiver } from '../delivery/support/receivers.ts'
import { runApp, type RunningApp } from '../support/app.ts'

const authority = new Authority()
const running: (RunningApp | { close: () => Promise<void> })[] = []
afterEach(async () => {
  for (const one of running.splice(0)) await one.close()
})
afterAll(() => authority.remove())

async function start(webhooks: PartialConfig['webhooks'] & object): Promise<RunningApp> {
  const sluice = await runApp({ flags: { webhooks: { allowPrivateTargets: true, ...webhooks } } })
  running.push(sluice)
  return sluice
}

function stopping(receiver: Receiver): Receiver {
  running.push({ close: () => receiver.stop() })
  return receiver
}

async function testFeeds(sluice: RunningApp, url: string): Promise<{ secret: string; state: () => Promise<unknown> }> {
  const { id, secret } = (await sluice.call('POST', '/api/webhooks', { url, isFeedHooks: true })).json.data
  await sluice.call('POST', '/api/webhooks/test/Feeds')
  const state = async () => (await sluice.call('GET', `/api/webhooks/${id}/deliveries`)).json.data[0]?.state
  return { secret, state }
}

it('webhooks.headerPrefix names the headers', async () => {
  const sluice = await start({ headerPrefix: 'X-Other-' })
  const receiver = stopping(await httpReceiver())
  const { secret, state } = await testFeeds(sluice, `http://127.0.0.1:${receiver.port}/`)
  await expect.poll(state).toBe('delivered')
  const { body, headers = {} } = receiver.requests[0] ?? {}
  const { 'x-other-signature': signature } = headers
  const old = { body: body ?? Buffer.of(), headers: { 'x-other-signature': signature }, secret, nowMs: Date.now() }
  expect(verifySignature({ ...old, profile: headerProfile('X-Other-') })).toMatchObject({ ok: true })
  expect(headers).not.toHaveProperty('x-service-signature')
})

it('webhooks.caFile makes a private authority trusted, and only that setting does', async () => {
  const receiver = stopping(await httpReceiver(undefined, { identity: authority.issue('localhost') }))
  const url = `https://localhost:${receiver.port}/`
  const trusting = await testFeeds(await start({ caFile: authority.caFile }), url)
  await expect.poll(trusting.state).toBe('delivered')
  const strange = await testFeeds(await start({}), url)
  await expect.poll(strange.state).toBe('failed')
  expect(receiver.requests).toHaveLength(1)
})

it('an unreadable webhooks.caFile keeps the server from starting, and the error names it', async () => {
  await expect(start({ caFile: '/nonexistent/ca.pem' })).rejects.toThrow(/webhooks\.caFile: \/nonexistent\/ca\.pem/)
  const { dataDir } = await start({})
  const empty = join(dataDir, 'empty.pem')
  writeFileSync(empty, 'nothing')
  await expect(start({ caFile: empty })).rejects.toThrow(/webhooks\.caFile/)
})
