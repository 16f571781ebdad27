import { statSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { axe, useDashboard } from './dashboard.ts'

const SECRET = 'scrape-me-if-you-can'

const dashboard = useDashboard({ SLUICE_METRICS_SECRET: SECRET, SLUICE_HLS_LIST_SEGMENTS: '9' })

let page: Page
async function open(path: string): Promise<void> {
  page = await dashboard.open(path)
}

const card = (title: string) => page.locator('section.card', { has: page.getByRole('heading', { name: title }) })
const button = (name: string) => page.getByRole('button', { name, exact: true })

test('the configuration shows where each value comes from, finds keys, and hides secrets', async () => {
  await open('/settings/server')
  const rows = card('Configuration').locator('tbody tr')
  const row = (key: string) => rows.filter({ has: page.getByText(key, { exact: true }) })
  await row('hls.listSegments').waitFor()
  expect(await row('hls.listSegments').textContent()).toMatch(/9SLUICE_HLS_LIST_SEGMENTSneeds a reload/)
  expect(await row('data.dir').textContent()).toContain('Command line')
  expect(await row('metrics.secret').textContent()).toContain('Set, hidden')
  expect(await row('log.level').count()).toBe(0)
  expect(await page.content()).not.toContain(SECRET)
  expect(await axe(page)).toEqual([])

  await page.getByRole('radio', { name: 'All' }).check({ force: true })
  await row('log.level').waitFor()
  await page.getByLabel('Search the configuration').fill('SLUICE_LOG_')
  await expect.poll(() => rows.count()).toBe(2)
  await page.getByLabel('Search the configuration').fill('no such key')
  await page.getByText('No key matches.').waitFor()
})

test('the node reads its configuration again at a click, and says what became of it', async () => {
  await open('/settings/server')
  await card('Configuration').getByRole('button', { name: 'Reload' }).click()
  await page.getByText('Nothing to apply: no key that a reload applies has changed.').waitFor()
  expect(await axe(page)).toEqual([])
})

test('the doctor checks at a click, and what it found is there when the page opens again', async () => {
  await open('/settings/server')
  const doctor = card('Doctor')
  await button('Run the checks').click()
  await button('Check again').waitFor()
  const folded = doctor.locator('details')
  await folded.locator('summary').click()
  await folded.getByText('opens existing tokens').or(folded.getByText('there is no token to open yet')).waitFor()
  expect(await axe(page)).toEqual([])
  await page.reload()
  await button('Check again').waitFor()
})

test('a backup is made at a click and downloaded, and what fills the disks is there', async () => {
  await open('/settings/server')
  const backup = card('Backup')
  await backup.getByText('None was made here yet.').waitFor()
  await button('Make a backup').click()
  const saving = page.waitForEvent('download')
  await backup.getByRole('link', { name: 'Download' }).click()
  const download = await saving
  expect(download.suggestedFilename()).toMatch(/^sluice-.*\.tar$/)
  const { size } = statSync(await download.path())
  const { latest } = (await dashboard.api('GET', '/api/server/backup')).data as { latest: { bytes: number } }
  expect(size).toBe(latest.bytes)
  await card('Storage').getByText('audit', { exact: true }).waitFor()
  await page.setViewportSize({ width: 390, height: 900 })
  const widths = await card('Storage')
    .locator('dd')
    .evaluateAll((values) => values.map(({ clientWidth }) => clientWidth))
  expect(Math.min(...widths), 'pixels for a value beside the path of a folder').toBeGreaterThan(100)
  await card('Version and ages').getByText('Sluice speaks no TLS.').waitFor()
  const changes = await card('Version and ages').getByRole('link', { name: 'What changed' }).getAttribute('href')
  expect(await (await fetch(new URL(changes ?? '', dashboard.home))).text()).toContain('Unreleased')
  expect(await axe(page)).toEqual([])
})

test('another node is chosen by its name, and says how it is in place of this one', async () => {
  const nodes = (await dashboard.api('GET', '/api/nodes')).data as { nodes: object[] }
  const other = { ...nodes.nodes[0], id: 'two', isThis: false, url: 'https://node2.example.com' }
  const answer = async (path: string) => (await dashboard.api('GET', path)).data as object
  const [upkeep, configuration] = [await answer('/api/server/upkeep'), await answer('/api/server/configuration')]
  page = await dashboard.open('/')
  const give = (path: string, data: unknown) =>
    page.route(`**/dashboard/api/${path}`, (route) => route.fulfill({ json: { status: 'success', data } }))
  await give('nodes', { database: 'postgres', nodes: [...nodes.nodes, other] })
  await give('server/upkeep?node=two', { ...upkeep, node: 'two', version: '9.8.7' })
  await give('server/configuration?node=two', { ...configuration, node: 'two' })
  await give('server/doctor?node=two', null)
  await page.goto(`${dashboard.home}#/settings/nodes`)
  await page.getByRole('link', { name: 'https://node2.example.com' }).click()
  await card('Version and ages').getByText('9.8.7').waitFor()
  expect(await page.locator('.node-choice select').inputValue()).toBe('two')
  expect(await card('Backup').count()).toBe(0)
  // The server itself has no such node.
  await page.getByRole('alert').getByText('No node with id: two').waitFor()
  await page.locator('.node-choice select').selectOption({ index: 0 })
  await card('Backup').waitFor()
  expect(await axe(page)).toEqual([])
})

test('back in the browser, and after a reload, a page is where it was left', async () => {
  await open('/settings/server?keys=all')
  const whole = page.locator('tbody tr', { has: page.getByText('log.level', { exact: true }) })
  await whole.waitFor()
  // What comes later would move what is below it.
  await expect.poll(() => page.locator('.bone').count()).toBe(0)
  const top = () => page.evaluate('scrollY')
  await page.mouse.wheel(0, 2000)
  await expect.poll(top).toBe(2000)
  await page.getByRole('link', { name: 'Recordings' }).click()
  await page.getByRole('heading', { level: 1, name: 'Recordings' }).waitFor()
  await expect.poll(top).toBe(0)
  await page.goBack()
  await whole.waitFor()
  await expect.poll(top).toBe(2000)
  await page.reload()
  await whole.waitFor()
  await expect.poll(top).toBe(2000)
})

test('on a phone another page begins at its top, also one that could not be loaded', async () => {
  const top = () => page.evaluate('scrollY')
  const scrollDown = async () => {
    await page.evaluate('scrollTo(0, 1000)')
    // What is loaded above it moves it on.
    await expect.poll(top).toBeGreaterThan(500)
  }
  page = await dashboard.open('/settings/server?keys=all', { width: 360 })
  await page.getByText('log.level', { exact: true }).waitFor()
  await scrollDown()
  await page.evaluate('location.hash = "#/recordings"')
  await page.getByRole('heading', { level: 1, name: 'Recordings' }).waitFor()
  expect(await top()).toBe(0)
  await page.evaluate('location.hash = "#/settings/server?keys=all"')
  await page.getByText('log.level', { exact: true }).waitFor()
  await scrollDown()
  await page.route('**/*.js', (route) => route.abort())
  await page.evaluate('location.hash = "#/channels/calendar"')
  await page.locator('main [role=alert]').waitFor()
  expect(await top()).toBe(0)
})

test('the nodes page shows the only node clearly, and several as a list', async () => {
  await open('/settings/nodes')
  const only = card('One node serves all')
  await only.getByText('Its data is in SQLite on this machine.').waitFor()
  const { version, node } = (await dashboard.api('GET', '/api/server')).data as { version: string; node: string }
  const values = await only.locator('dd').allTextContents()
  expect(values[0]).toBe(version)
  expect(values.slice(2, 4)).toEqual(['0 publishers, 0 viewers', '0\u00a0bit/s in, 0\u00a0bit/s out'])
  expect(values[4]).toMatch(/^(–|\d+% of \d+ cores?)$/)
  expect(values.slice(5)).toEqual([expect.stringMatching(/^(–|\d+% busy)$/), expect.anything(), node])
  expect(await axe(page)).toEqual([])

  await page.route('**/dashboard/api/nodes', async (route) => {
    const { status, data } = (await (await route.fetch()).json()) as { status: string; data: { nodes: object[] } }
    const link = {
      node: 'two',
      lent: 2,
      relayed: 0,
      borrowed: 1,
      bitrateOut: 5e6,
      bitrateIn: 2.5e6,
      problem: 'media_port',
    }
    const load = { url: 'https://node2.example.com', version: '9.8.7', cores: 4, cpuPercent: 37, mediaPercent: 91 }
    const nodes = [
      ...data.nodes,
      { ...data.nodes[0], ...load, id: 'two', isThis: false, state: 'silent', viewers: 1 },
      { ...data.nodes[0], id: 'three', isThis: false, full: ['media', 'egress'], links: [link] },
    ]
    await route.fulfill({ json: { status, data: { database: 'postgres', nodes } } })
  })
  const rows = page.locator('tbody tr')
  await expect.poll(() => rows.count()).toBe(3)
  const two = /node2\.example\.com.*9\.8\.7.*Not seen lately.*Last seen.*0 publishers1 viewer.*37% of 4 cores.*91% busy/
  const three = /media processes are busy, sends as much as it may.*1 from others, 2 to others.*media ports do not/
  const seen = [expect.stringContaining('this one'), expect.stringMatching(two), expect.stringMatching(three)]
  expect(await rows.allTextContents()).toEqual(seen)
  const hidden = await page
    .locator('table')
    .evaluate(({ parentElement: box }) => (box?.scrollWidth ?? 0) - (box?.clientWidth ?? 0))
  expect(hidden, 'pixels of the list that one has to scroll to').toBe(0)
  expect(await axe(page)).toEqual([])
})
