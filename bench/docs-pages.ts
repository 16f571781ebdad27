/**
 * How long the documentation takes until a reader sees it, in a real Chromium that has loaded nothing before: the first page at
 * `/docs/`, a long guide, and an operation of the API reference. The server has sent none of them yet, either, in the first round.
 * Prints the first contentful paint, which has the heading, from the start of the navigation, as a share of the limit.
 *
 *   node bench/docs-pages.ts
 */
import { closeBrowser } from '../test/e2e/browser.ts'
import { buildPages } from '../test/e2e/dashboard/build.ts'
import { setStage, type Stage } from '../test/e2e/sluice.ts'
import { median, report } from './lib/report.ts'

const LIMIT_MS = 1000
const ROUNDS = 5
const PAGES = {
  'the first page of the documents': '/docs/',
  'the guide of production': '/docs/guides/production.html',
  'an operation of the API reference': '/api/docs/createPublishToken',
} as const

// Waits for the entry where the paint is not reported yet.
const FIRST_PAINT = `new Promise((resolve) =>
  new PerformanceObserver((list) => {
    const entry = list.getEntriesByName('first-contentful-paint')[0]
    if (entry) resolve(entry.startTime)
  }).observe({ type: 'paint', buffered: true }))`

await buildPages('docs')
const stage = await setStage()
try {
  for (const [what, path] of Object.entries(PAGES)) {
    const times: number[] = []
    for (let round = 0; round < ROUNDS; round++) times.push(await paint(stage, path))
    // The first one in this process also waits for what the server reads and makes once.
    const ratio = Math.max(...times) / LIMIT_MS
    const detail = `slowest of ${ROUNDS}; first ${times[0]?.toFixed(0)} ms, median ${median(times).toFixed(0)} ms`
    report({ what: `${what}, to the limit`, ratio, target: '1.00', met: ratio <= 1, detail })
  }
} finally {
  await stage.close()
  await closeBrowser()
}

/** In a context of its own, which has an empty cache. */
async function paint({ browser, server }: Stage, path: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  const page = await context.newPage()
  await page.goto(server.url + path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  const painted = await page.evaluate<number>(FIRST_PAINT)
  await context.close()
  return painted
}
