import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useDashboard } from './dashboard.ts'

const dashboard = useDashboard()

/** Recordings of a long list, a page at a time. */
async function listMany(page: Page): Promise<void> {
  await page.route('**/api/recordings?*', (route) => {
    const from = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0)
    const data = Array.from({ length: 50 }, (_, at) => ({
      id: `r${from + at}`,
      streamName: `recording ${from + at}`,
      state: 'completed',
      startedOn: '2026-01-01T00:00:00.000Z',
    }))
    return route.fulfill({
      json: { status: 'success', data, pagination: { hasMore: true, cursor: String(from + 50) } },
    })
  })
}

test('who comes back to a list, or loads it again, sees as many rows as before, at the same place', async () => {
  const page = await dashboard.open('/')
  await listMany(page)
  const row = (at: number) => page.getByText(`recording ${at}`, { exact: true })
  const top = () => page.evaluate<number>('scrollY')
  await page.goto(`${dashboard.home}#/recordings`)
  for (const last of [99, 149]) {
    await page.getByRole('button', { name: 'Show more' }).click()
    await row(last).waitFor()
  }
  await row(140).scrollIntoViewIfNeeded()
  // The page learns of it with the next frame.
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  const before = await top()
  expect(before).toBeGreaterThan(3000)
  await page.evaluate(`location.hash = '#/analytics'`)
  await page.getByRole('heading', { level: 1, name: 'Analytics' }).waitFor()
  await page.goBack()
  await row(149).waitFor()
  await expect.poll(top).toBe(before)
  await page.reload()
  await row(149).waitFor()
  await expect.poll(top).toBe(before)
  // Another search begins at its first page.
  await page.getByRole('searchbox').fill('other')
  await row(149).waitFor({ state: 'detached' })
  await row(49).waitFor()
})
