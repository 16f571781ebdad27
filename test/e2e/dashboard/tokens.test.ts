import type { Page } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import { axe, useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

const HOSTILE = '<img src=x onerror=alert(1)> "press" & co'

let page: Page
beforeEach(async () => {
  page = await dashboard.open('/tokens/publish')
  return deleteAll
})

const labels = (): Promise<string[]> => page.locator('tbody a.row').allTextContents()
const shows = (expected: readonly string[]) => expect.poll(labels).toEqual(expected)
const rowOf = (label: string) => page.locator('tbody tr', { has: page.locator('a.row', { hasText: label }) })
const button = (name: string) => page.getByRole('button', { name, exact: true })
const toast = (text: string) => page.locator('.toast', { hasText: text })

async function deleteAll(): Promise<void> {
  const { data } = await dashboard.api('GET', '/api/publish_token/list?itemsOnPage=100')
  for (const { id } of data as { id: number }[]) await dashboard.api('DELETE', `/api/publish_token/${id}`)
}

async function token(label: string, streamName: string, more: object = {}): Promise<number> {
  const made = await dashboard.token('publish', { label, streams: [{ streamName }], ...more })
  return made.id
}

const isActive = async (id: number): Promise<boolean> => {
  const { data } = await dashboard.api('GET', `/api/publish_token/${id}`)
  return (data as { isActive: boolean }).isActive
}

async function choose(item: string, label: string): Promise<void> {
  await page.getByRole('button', { name: `More for ${label}` }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

test('empty lists teach the first step', async () => {
  await page.getByRole('heading', { name: 'No client can broadcast yet' }).waitFor()
  expect(await page.getByRole('link', { name: 'New publish token' }).getAttribute('href')).toBe('#/tokens/publish/new')
  expect(await axe(page)).toEqual([])
  await page.getByRole('link', { name: /^Subscribe/ }).click()
  await page.getByRole('heading', { name: 'There is no subscribe token yet' }).waitFor()
  await page.getByRole('link', { name: 'Secure a stream' }).click()
  await page.getByRole('heading', { name: 'No client can broadcast yet' }).waitFor()
})

test('a token is switched off from its row, back on by Undo, and deleted after a question', async () => {
  const id = await token('Studio 1', 'morning')
  await page.reload()
  await shows(['Studio 1'])
  await choose('Switch off', 'Studio 1')
  // A message stays as long as it is pointed at.
  await toast('Studio 1: switched off').hover()
  expect(await isActive(id)).toBe(false)
  await expect.poll(() => rowOf('Studio 1').textContent()).toContain('Off')
  await toast('Studio 1: switched off').getByRole('button', { name: 'Undo' }).click()
  await expect.poll(() => isActive(id)).toBe(true)
  await expect.poll(() => rowOf('Studio 1').textContent()).toContain('Ready')

  await choose('Delete', 'Studio 1')
  await page.getByRole('dialog').getByText('No session uses it now.').waitFor()
  await page.keyboard.press('Escape')
  expect((await dashboard.api('GET', `/api/publish_token/${id}`)).status).toBe(200)
  await choose('Delete', 'Studio 1')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await toast('Studio 1: deleted').waitFor()
  expect((await dashboard.api('GET', `/api/publish_token/${id}`)).status).toBe(404)
})

test('the question before deleting counts the sessions that end', async () => {
  const { id, token: value } = await dashboard.token('publish', { label: 'On air', streams: [{ streamName: 'air' }] })
  const publisher = await dashboard.peer()
  expect(await publisher.publish({ url: dashboard.whip('air'), token: value })).toBe('ok')
  await page.reload()
  await expect.poll(() => rowOf('On air').textContent()).toContain('Live')
  await choose('Delete', 'On air')
  await page.getByRole('dialog').getByText('One session uses it now and ends at once.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await toast('On air: deleted').waitFor()
  await expect
    .poll(async () => (await dashboard.api('GET', `/api/sessions?tokenId=${id}`)).data as unknown[])
    .toEqual([])
  await publisher.close()
})

test('search, filter, order and pages stand in the address', async () => {
  await token('Alpha', 'one')
  await token('beta', 'two', { expires: 86_400 })
  const off = await token('Gamma', 'one-more')
  await dashboard.api('PATCH', '/api/publish_token/disable', { tokenIds: [off] })
  await page.reload()
  await shows(['Gamma', 'beta', 'Alpha'])

  await page.getByRole('searchbox').fill('one')
  await shows(['Gamma', 'Alpha'])
  expect(page.url()).toContain('search=one')
  await page.getByRole('searchbox').fill('nothing like it')
  await page.getByRole('link', { name: 'Show all tokens' }).click()
  await shows(['Gamma', 'beta', 'Alpha'])

  await page.getByText('Off', { exact: true }).first().click()
  await shows(['Gamma'])
  await page.getByText('Expiring', { exact: true }).click()
  await shows(['beta'])
  expect(await rowOf('beta').textContent()).toContain('in 24 hours')
  await page.getByText('All', { exact: true }).click()

  await button('Label').click()
  await shows(['Alpha', 'Gamma', 'beta'])
  await button('Label').click()
  await shows(['beta', 'Gamma', 'Alpha'])
  await page.reload()
  await shows(['beta', 'Gamma', 'Alpha'])
  await button('Label').click()
  await shows(['Gamma', 'beta', 'Alpha'])
})

test('several tokens are switched off, back on, and deleted at once', async () => {
  const ids = [await token('Pool 1', 'pool-1'), await token('Pool 2', 'pool-2'), await token('Pool 3', 'pool-3')]
  await page.goto(`${dashboard.home}#/tokens/publish?search=Pool`)
  await shows(['Pool 3', 'Pool 2', 'Pool 1'])
  await page.getByRole('checkbox', { name: 'Select Pool 1' }).check()
  await page.getByRole('checkbox', { name: 'Select Pool 3' }).check()
  await page.getByRole('group', { name: '2 selected' }).getByRole('button', { name: 'Switch off' }).click()
  await toast('2 tokens: switched off').hover()
  expect(await Promise.all(ids.map(isActive))).toEqual([false, true, false])
  await toast('2 tokens: switched off').getByRole('button', { name: 'Undo' }).click()
  await expect.poll(() => Promise.all(ids.map(isActive))).toEqual([true, true, true])

  await page.getByRole('checkbox', { name: 'Select all of this page' }).check()
  await button('Delete').click()
  await page.getByRole('dialog', { name: 'Delete 3 tokens?' }).getByRole('button', { name: 'Delete' }).click()
  await toast('3 tokens deleted').waitFor()
  for (const id of ids) expect((await dashboard.api('GET', `/api/publish_token/${id}`)).status).toBe(404)
})

test('a list of more than a page has pages, and each begins at its top', async () => {
  for (let number = 1; number <= 101; number++) await token(`Row ${number}`, `row-${number}`)
  await page.goto(`${dashboard.home}#/tokens/publish?search=Row`)
  await page.getByText('1 to 50 of 101').waitFor()
  await button('Next').click()
  await page.getByText('51 to 100 of 101').waitFor()
  expect(await page.evaluate<number>(`document.querySelector('.tools').getBoundingClientRect().top`)).toBeGreaterThan(0)
  await button('Next').click()
  await page.getByText('101 to 101 of 101').waitFor()
  await shows(['Row 1'])
  expect(page.url()).toContain('page=3')
  await button('Previous').click()
  await page.getByText('51 to 100 of 101').waitFor()
  await button('Next').click()
  await button('More for Row 1').click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  // Nothing is left of the page.
  await page.getByText('51 to 100 of 100').waitFor()
})

test('a hostile label is text, and lists come without the values of tokens', async () => {
  await token(HOSTILE, '<b>')
  const answers: string[] = []
  page.on('response', (response) => {
    if (!response.url().includes('/publish_token/list')) return
    // The body of an answer is gone when the page has gone on before it was read.
    void response.text().then(
      (text) => answers.push(text),
      () => undefined,
    )
  })
  await page.goto(`${dashboard.home}#/tokens/publish?search=press`)
  await page.reload()
  await shows([HOSTILE])
  expect(await page.locator('main img, tbody b').count()).toBe(0)
  await expect.poll(() => answers.length).toBeGreaterThan(0)
  expect(answers.join()).not.toMatch(/"token":|[0-9a-f]{64}/)
  expect(await axe(page)).toEqual([])
})

test('all that a subscribe token has signed so far is revoked by the clock of the server', async () => {
  const { id } = await dashboard.token('subscribe', { label: 'Signer', streams: [{ streamName: 'show' }] })
  const signed = await dashboard.api('POST', `/api/subscribe_token/${id}/sign`, { streamName: 'show' })
  const { token: presented } = signed.data as { token: string }
  const body = { action: 'view', protocol: 'whep', streamName: 'show', ip: '203.0.113.7', token: presented }
  const decision = async (): Promise<unknown> => (await dashboard.api('POST', '/api/access/check', body)).data
  expect(await decision()).not.toMatchObject({ code: 'token_revoked' })
  await page.goto(`${dashboard.home}#/tokens/subscribe/${id}`)
  await page.clock.setFixedTime(Date.now() - 3_600_000)
  const sent: string[] = []
  page.on('request', (request) => sent.push(request.url()))
  await page.getByText('Revoke signed tokens').click()
  await button('Revoke all signed so far').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke all signed so far' }).click()
  await toast('Revoked').hover()
  expect(await decision()).toMatchObject({ code: 'token_revoked' })
  // Enter in the field of one id revokes that one.
  await page.getByLabel('Id (jti) to revoke').fill('guest-1')
  await page.keyboard.press('Enter')
  await expect.poll(() => toast('Revoked').count()).toBe(2)
  // Neither signs another token, whose form stands above.
  expect(sent.filter((url) => url.endsWith('/sign'))).toEqual([])
})

test('a phone shows the same without scrolling sideways', async () => {
  await token(HOSTILE, 'press')
  const phone = await dashboard.open('/tokens/publish?search=press', { width: 390, theme: 'dark' })
  await phone.getByText(HOSTILE).first().waitFor()
  expect(await phone.evaluate('document.documentElement.scrollWidth')).toBe(390)
  // A long title has the width of the page, and the buttons are below it.
  const id = await token('A label of many words '.repeat(5).trim(), 'long')
  await phone.goto(`${dashboard.home}#/tokens/publish/${id}`)
  await phone.getByRole('button', { name: 'New value' }).waitFor()
  expect((await phone.locator('h1').boundingBox())?.width).toBeGreaterThan(260)
  // A message does not cover the navigation.
  await phone.getByRole('button', { name: 'Switch off' }).click()
  const { y = 0, height = 0 } = (await phone.locator('.toast').boundingBox()) ?? {}
  expect(y + height).toBeLessThanOrEqual((await phone.locator('.tabbar').boundingBox())?.y ?? 0)
})
