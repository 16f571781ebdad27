import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setStage, type Stage } from './sluice.ts'

let stage: Stage
beforeAll(async () => {
  stage = await setStage()
})
afterAll(() => stage.close())

const anyName = [{ streamName: '.*', isRegex: true }]

async function open(): Promise<Page> {
  const page = await stage.browser.newPage()
  await page.goto(`${stage.origin('page.test')}/library.html`)
  await page.waitForFunction('globalThis.library !== undefined')
  return page
}

const call = <T>(page: Page, expression: string): Promise<T> => page.evaluate(`library.${expression}`) as Promise<T>
const publish = (page: Page, stream: string, options: object) =>
  call<string>(page, `publish(${JSON.stringify({ url: stage.whip(stream), ...options })})`)
const watch = (page: Page, stream: string, options: object = {}) =>
  call<string>(page, `watch(${JSON.stringify({ url: stage.whep(stream), ...options })})`)

/** More video from now on. */
async function plays(page: Page): Promise<void> {
  const before = await call<number>(page, 'frames()')
  await expect.poll(() => call<number>(page, 'frames()')).toBeGreaterThan(before + 10)
}

async function sessionsOf(stream: string, action: string): Promise<{ id: string }[]> {
  const { data } = await stage.api('GET', '/api/sessions')
  const all = data as { id: string; action: string; streamName: string }[]
  return all.filter((one) => one.action === action && one.streamName === stream)
}

test('the library broadcasts and watches: a viewer waits for the publisher, sees a new track, and has statistics', async () => {
  const { token } = await stage.token('publish', { streams: anyName })
  const [publisher, viewer] = [await open(), await open()]
  const begun = watch(viewer, 'show')
  await viewer.waitForFunction("library.states.at(-1) === 'waiting: stream_not_published'")
  expect(await call(publisher, 'sendableCodecs()')).toContain('vp8')
  expect(await publish(publisher, 'show', { token, codec: 'vp8', trickle: true })).toBe('ok')
  expect(await call(publisher, 'streamId()')).toBe(`${stage.accountId}/show`)
  expect(await begun).toBe('ok')
  await plays(viewer)
  await call(viewer, 'stats()')
  await plays(viewer)
  const received = await call<{ video: object }>(viewer, 'stats()')
  expect(received).toMatchObject({ video: { codec: 'VP8', width: 320, height: 180 }, audioCodec: 'opus' })
  expect(received).toMatchObject({ bitrate: expect.any(Number) as number, roundTripMs: expect.any(Number) as number })
  await call(publisher, 'replaceVideo()')
  await plays(viewer)
  await call(publisher, 'stop()')
  await viewer.waitForFunction("library.state() === 'waiting'")
  await expect.poll(() => sessionsOf('show', 'publish')).toEqual([])
  await Promise.all([publisher.close(), viewer.close()])
})

test('the library restarts ICE after a change of the network, in the same session', async () => {
  const { token } = await stage.token('publish', { streams: anyName })
  const [publisher, viewer] = [await open(), await open()]
  expect(await publish(publisher, 'moving', { token, simulcast: true, scale: 0.75, codec: 'vp8' })).toBe('ok')
  expect(await watch(viewer, 'moving')).toBe('ok')
  await plays(viewer)
  const before = [await sessionsOf('moving', 'publish'), await sessionsOf('moving', 'view')].flat().map(({ id }) => id)
  for (const page of [publisher, viewer]) {
    const patched = page.waitForResponse((response) => response.request().method() === 'PATCH')
    await call(page, 'changeNetwork()')
    expect((await patched).status()).toBe(200)
    await plays(viewer)
  }
  const after = [await sessionsOf('moving', 'publish'), await sessionsOf('moving', 'view')].flat().map(({ id }) => id)
  expect(after).toEqual(before)
  await Promise.all([publisher.close(), viewer.close()])
})

test('the library gives the reason of a refusal, notices an end at once, and leaves no session', async () => {
  const { token, id } = await stage.token('publish', { streams: anyName, subscribeRequiresAuth: true })
  const [publisher, viewer] = [await open(), await open()]
  expect(await publish(publisher, 'club', { token: 'f'.repeat(64) })).toBe('invalid_token: Unauthorized: Invalid token')
  expect(await publish(publisher, 'club', { token })).toBe('ok')
  expect(await watch(viewer, 'club')).toBe('invalid_token: Unauthorized: Invalid token')
  const subscribe = await stage.token('subscribe', { streams: anyName })
  expect(await watch(viewer, 'club', { token: subscribe.token })).toBe('ok')
  await plays(viewer)
  await stage.api('PUT', `/api/subscribe_token/${subscribe.id}`, { isActive: false })
  const [session] = await sessionsOf('club', 'view')
  await stage.api('DELETE', `/api/sessions/${session?.id}`)
  await viewer.waitForFunction("library.states.at(-1) === 'ended: token_disabled'")
  expect(await call<string[]>(viewer, 'states')).toContain('reconnecting: ended_by_server')
  await stage.api('DELETE', `/api/publish_token/${id}`)
  await publisher.waitForFunction("library.states.at(-1) === 'ended: ended_by_server'")
  await expect.poll(async () => (await stage.api('GET', '/api/sessions')).data).toEqual([])
})
