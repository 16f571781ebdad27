import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FIREFOX, type Firefox, openFirefox } from '../firefox.ts'
import type { Tab } from '../peer.ts'
import { ADMIN, type Dashboard, openDashboard } from './dashboard.ts'

describe.skipIf(!existsSync(FIREFOX))('the dashboard in Firefox', () => {
  let dashboard: Dashboard
  let firefox: Firefox
  let tab: Tab
  beforeAll(async () => {
    ;[dashboard, firefox] = await Promise.all([openDashboard(), openFirefox()])
    tab = await firefox.newPage()
  })
  afterAll(async () => {
    await firefox.close()
    await dashboard.close()
  })

  /** Resolves when the page shows this text. */
  const shows = (text: string) => expect.poll(() => tab.evaluate<string>('document.body.innerText')).toContain(text)

  /** An expression for the first element of `selector` that has this text. */
  const element = (selector: string, text: string) =>
    `[...document.querySelectorAll(${JSON.stringify(selector)})].find((one) => one.textContent.includes(${JSON.stringify(text)}))`

  /** Clicks as soon as the element is there. */
  async function click(selector: string, text = ''): Promise<void> {
    await expect.poll(() => tab.evaluate(`Boolean(${element(selector, text)})`)).toBe(true)
    await tab.evaluate(`void ${element(selector, text)}.click()`)
  }

  /** Types into the input of a field, as a keyboard does. */
  async function fill(field: string, text: string): Promise<void> {
    const input = `${element('.field', field)}?.querySelector('input')`
    await expect.poll(() => tab.evaluate(`Boolean(${input})`)).toBe(true)
    await tab.evaluate(`void ${input}.select()`)
    await tab.evaluate(`void document.execCommand('insertText', false, ${JSON.stringify(text)})`)
  }

  const tokens = async () => (await dashboard.api('GET', '/api/publish_token/list')).data as unknown[]

  test('signs in, makes a token, reads its value, watches, switches it off, deletes it and signs out', async () => {
    await tab.goto(dashboard.home)
    await fill('E-mail', ADMIN.email)
    await fill('Password', 'not the password')
    await click('button[type=submit]')
    await expect.poll(() => tab.evaluate('document.querySelector(".err")?.textContent ?? ""')).not.toBe('')
    await fill('Password', ADMIN.password)
    await click('button[type=submit]')
    await shows('Overview')

    await tab.goto(`${dashboard.home}#/tokens/publish/new`)
    await fill('Label', 'From Firefox')
    await fill('Streams', 'fox,')
    await click('button[type=submit]')
    await expect.poll(tokens).toMatchObject([{ label: 'From Firefox', streams: [{ streamName: 'fox' }] }])
    await shows('From Firefox')
    const { id, token } = (await tokens())[0] as { id: number; token: string }
    expect(await tab.evaluate('document.body.innerText')).not.toContain(token)
    await click('.copy button', 'Show')
    await shows(token)

    const publisher = await dashboard.peer()
    expect(await publisher.publish({ url: dashboard.whip('fox'), token, codec: 'vp8', scale: 0.5 })).toBe('ok')
    await tab.goto(`${dashboard.home}#/streams/fox`)
    await click('button', 'Watch here')
    const player = "document.querySelector('sluice-player')"
    await expect.poll(() => tab.evaluate(`${player}?.state ?? ''`)).toBe('playing')
    await expect.poll(() => tab.evaluate(`${player}.video.currentTime`)).toBeGreaterThan(1)
    await publisher.stop()

    await tab.goto(`${dashboard.home}#/tokens/publish/${id}`)
    await click('button', 'Switch off')
    await expect.poll(tokens).toMatchObject([{ isActive: false }])
    await click('[aria-label="More for From Firefox"]')
    await click('[role=menuitem]', 'Delete')
    await click('dialog button', 'Delete')
    await expect.poll(tokens).toEqual([])

    await click('.who [aria-haspopup]')
    await click('.who [role=menuitem]', 'Sign out')
    await shows('E-mail')
  })
})
