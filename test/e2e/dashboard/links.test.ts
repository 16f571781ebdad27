import type { Page } from 'playwright-core'
import { beforeAll, expect, onTestFailed, test } from 'vitest'
import { axe, useDashboard } from './dashboard.ts'

const dashboard = useDashboard({ SLUICE_WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' })
beforeAll(fill)

/** Where nothing answers, so that deliveries say so in words. */
const DEAF = 'http://127.0.0.1:1/'

/** Something of each kind that pages link to. */
async function fill(): Promise<void> {
  const secured = { streams: [{ streamName: 'talk' }], subscribeRequiresAuth: true, record: true }
  const { token } = await dashboard.token('publish', { label: 'Studio', ...secured })
  const streams = [{ streamName: 'talk' }]
  await dashboard.token('subscribe', { label: 'Website', streams, bindIpsOnUsage: 1 })
  for (const label of ['Soon', 'Sooner']) await dashboard.token('subscribe', { label, streams, expires: 86_400 })
  await dashboard.api('POST', '/api/webhooks', { url: DEAF, isFeedHooks: true, isViewerConnectionHooks: true })
  const hook = (await dashboard.v2('POST', '/webhooks', { name: 'Hook', url: DEAF, events: ['*'], active: true })) as {
    id: string
  }
  for (let times = 0; times < 2; times++) {
    await dashboard.api('POST', '/api/webhooks/test/feeds', {})
    await dashboard.v2('POST', `/webhooks/${hook.id}/test`, { type: 'engine.error' })
  }
  await dashboard.v2('POST', '/channels', {
    name: 'News',
    ingests: ['Camera', 'Spare camera'].map((name) => ({
      name,
      type: 'rtmp-push',
      engines: [{ name: `Of ${name}`, quality: { abrLadderId: 'ab_default' } }],
    })),
    distributions: [{ name: 'Web' }, { name: 'App' }],
  })
  const publisher = await dashboard.peer()
  expect(await publisher.publish({ url: dashboard.whip('talk'), token, codec: 'vp8', scale: 0.25 })).toBe('ok')
  const viewer = await dashboard.peer()
  expect(await viewer.watch({ url: dashboard.whep('talk') })).toContain('401')
  expect(await viewer.watch({ url: dashboard.whep('talk'), token: 'x'.repeat(32) })).toContain('401')
}

/** What a page shows as chosen: headings, texts of fields, chips, the chosen of a list, and what is expanded. */
const CHOSEN = `[
  ...[...document.querySelectorAll('main :is(h1, h2), main .chips > span')].map((one) => one.textContent),
  ...[...document.querySelectorAll('main input:not([type=radio], [type=checkbox])')].map((one) => one.value),
  ...[...document.querySelectorAll('main input:checked')].map((one) => one.closest('label')?.textContent ?? ''),
  ...[...document.querySelectorAll('main select')].map((one) => one.value + ' ' + one.selectedOptions[0]?.textContent),
  ...[...document.querySelectorAll('main button')].map((one) => one.textContent),
].join('\\n').toLowerCase()`

const LINKS = `[...document.querySelectorAll('a[href^="#"]')].map((one) => one.getAttribute('href'))`

/**
 * Notes the calls of a page that are not answered yet. Its event stream is none of them. Nor is a call that it has had an answer to:
 * figures are asked for every two seconds, and where an answer takes as long, one of them is always on its way.
 */
const WATCH_CALLS = `{
  globalThis.calls = new Set()
  globalThis.answered = new Set()
  const { fetch: send } = globalThis
  globalThis.fetch = async (...call) => {
    const name = String(call[0].url ?? call[0])
    if (answered.has(name)) return send(...call)
    calls.add(name)
    try {
      const answer = await send(...call)
      await answer.clone().arrayBuffer()
      return answer
    } finally {
      calls.delete(name)
      answered.add(name)
    }
  }
}`

/** What a page waits for until it has drawn all that it knows. It asks after it was drawn, so two frames pass. */
const WAITS_FOR = `(async () => {
  const frame = () => new Promise((go) => requestAnimationFrame(() => setTimeout(go)))
  for (let round = 0; round < 2; round++) {
    await frame()
    await frame()
    if (calls.size > 0) return [...calls]
  }
  return document.querySelector('main .bone') === null ? [] : ['what it has not drawn']
})()`

/** Of all pages together: each has the limit of its own waits, and on a loaded machine dozens of them take longer than one test may. */
const ALL_PAGES_MS = 600_000

/** Where a test is. Its time is that of all pages, so the page is named when it is over. */
let at = ''
const nameThePage = (): void => onTestFailed(() => console.error(`the test was at ${at}`))

/** Shows a page, until it is drawn. */
async function show(page: Page, href: string): Promise<void> {
  at = href
  await page.evaluate('answered.clear()')
  await page.goto(`${dashboard.home}${href}`)
  await page.locator('main :is(h1, h2)').first().waitFor()
  await expect.poll(() => page.evaluate(WAITS_FOR), { message: `${href} waits` }).toEqual([])
}

/** Shown in another way than as a value: a decision by its reason, a list by its length. */
const OTHERWISE: Readonly<Record<string, string>> = { decision: 'main h2:text-is("Why")' }

/** What a link of a page has promised and its target does not show. */
async function broken(page: Page, href: string): Promise<string[]> {
  await show(page, href)
  const problems: string[] = []
  if ((await page.getByText('There is no such page').count()) > 0) problems.push('leads to no page')
  const alerts = await page.locator('main [role=alert]').allTextContents()
  problems.push(...alerts.map((text) => `shows: ${text}`))
  for (const [name, value] of new URLSearchParams(href.split('?')[1])) {
    const selector = OTHERWISE[name]
    const isShown = async () =>
      selector === undefined
        ? (await page.evaluate<string>(CHOSEN)).includes(value.toLowerCase())
        : (await page.locator(selector).count()) > 0
    await expect.poll(isShown, { message: `${href}: ${name} is not chosen` }).toBe(true)
  }
  return problems
}

/** Ids of decisions differ without end; one link of each form is enough. */
const formOf = (href: string): string => href.replace(/(decision=)[\w-]+/, '$1ID')

/** The pages that links led to, without what they show of them. */
const pages = new Set<string>()

test('every link of a page to another leads there, with the filter that it names', {
  timeout: ALL_PAGES_MS,
}, async () => {
  nameThePage()
  const page = await dashboard.open('/')
  await page.addInitScript(WATCH_CALLS)
  await page.reload()
  await page.locator('.live-card').waitFor()
  const seen = new Map([['#/', '']])
  const problems: string[] = []
  for (const [href, from] of seen) {
    pages.add(href.split('?')[0] ?? '')
    problems.push(...(await broken(page, href)).map((problem) => `${href} of ${from}: ${problem}`))
    const known = new Set([...seen.keys()].map(formOf))
    for (const link of await page.evaluate<string[]>(LINKS)) {
      // `#main` is a place of the page itself.
      if (link.startsWith('#/') && !known.has(formOf(link))) seen.set(link, href)
    }
  }
  expect(problems).toEqual([])
  // It has been everywhere.
  const visited = [...seen.keys()].join('\n')
  for (const part of [
    '/streams/talk',
    'outcome=refused',
    'code=token_missing',
    'state=expiring',
    '/webhooks/1',
    '/channels/',
    'stream=talk',
  ])
    expect(visited).toContain(part)
  await page.close()
})

/** Cells that end beyond their table, which shows nothing of them there. */
const CUT = `[...document.querySelectorAll('.table :is(th, td)')]
  .filter((one) => one.getBoundingClientRect().right > one.closest('.table').getBoundingClientRect().right + 1)
  .map((one) => one.textContent)`

/** Buttons and switches of a page whose names say the same, so that those who hear them alone cannot tell them apart. */
async function alike(page: Page): Promise<string[]> {
  const found = (await page.locator('body').ariaSnapshot()).matchAll(/- '?((?:button|switch) ".*?[^\\]")/g)
  const names = [...found].map(([, name = '']) => name)
  return names.filter((name, at) => names.indexOf(name) < at)
}

/** As long as one may be. */
const LONG = `${'a-name-that-nobody-wants-to-read-'.repeat(2)}${'x'.repeat(62)}`

test.each([
  [360, 'de-DE'],
  [1280, 'en-GB'],
] as const)(
  '%i pixels wide in %s, no page has a finding of axe in light or in dark, two buttons of one name, scrolls sideways or has a table that is cut',
  { timeout: ALL_PAGES_MS },
  async (width, locale) => {
    expect(pages.size).toBeGreaterThan(20)
    nameThePage()
    // Labels may be alike, and these would be.
    await dashboard.token('publish', { label: `${LONG.slice(4)}${width}`, streams: [{ streamName: LONG }] })
    const storageState = await dashboard.context.storageState()
    const context = await dashboard.newContext({ locale, storageState, viewport: { width, height: 900 } })
    const page = await context.newPage()
    await page.addInitScript(WATCH_CALLS)
    await page.goto(dashboard.home)
    const problems: string[] = []
    for (const href of [...pages, `#/streams/${LONG}`, `#/live?stream=${LONG}`]) {
      await show(page, href)
      problems.push(...(await axe(page)).map((finding) => `${href}: ${finding}`))
      const shown = await page.evaluate('document.documentElement.scrollWidth')
      if (shown !== width) problems.push(`${href}: has ${String(shown)} pixels`)
      problems.push(...(await page.evaluate<string[]>(CUT)).map((cell) => `${href}: cuts ${cell}`))
      problems.push(...(await alike(page)).map((name) => `${href}: has twice ${name}`))
    }
    expect(problems).toEqual([])
    await context.close()
  },
)
