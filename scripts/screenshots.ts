/**
 * Writes docs/screenshots/: the main pages of the dashboard at three widths, in light and in dark. It starts a server with a
 * small station on the air: streams that really run, with viewers, refusals, webhooks and a channel. The day before is made
 * up, because no script can wait for it. Takes two minutes, and needs ffmpeg and Chromium.
 *
 *   node scripts/screenshots.ts [--out DIRECTORY] [--pages NAME,…] [--whole]
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Locator, Page } from 'playwright-core'
import { readCommandLine } from './commandLine.ts'
import { closeBrowser } from '../test/e2e/browser.ts'
import { type Dashboard, openDashboard } from '../test/e2e/dashboard/dashboard.ts'
import { writeHistory } from './screenshots/history.ts'
import { putOnShow, type Show } from './screenshots/show.ts'

const SIZES = [
  { width: 390, height: 844 },
  { width: 1280, height: 860 },
  { width: 1920, height: 1080 },
] as const
const THEMES = ['light', 'dark'] as const
const FILE_MAX_BYTES = 100_000
/** The first one that keeps a file small enough. */
const QUALITIES = [65, 50]
/** Those that the documentation shows are in each package: their words are still clear. */
const PACKAGED = { names: ['overview-1280-light', 'access-1280-light'], qualities: [15] }
/** For figures that move each two seconds, thumbnails and plots. */
const SETTLE_MS = 800
/** The first minutes of a broadcast have few figures. */
const WARM_UP_MS = 15_000

const { values } = readCommandLine({
  options: { out: { type: 'string' }, pages: { type: 'string' }, whole: { type: 'boolean', default: false } },
})
const out = values.out ?? fileURLToPath(new URL('../docs/screenshots/', import.meta.url))
mkdirSync(out, { recursive: true })
const folder = mkdtempSync(join(tmpdir(), 'sluice-screenshots-'))

const store = join(folder, 'sluice.db')
const dashboard = await openDashboard({
  SLUICE_STORAGE_URL: store,
  SLUICE_DATA_DIR: folder,
  SLUICE_SERVER_PUBLIC_URL: 'https://live.riverside.example',
  SLUICE_WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
})
try {
  const show = await putOnShow(dashboard, folder)
  writeHistory(store, dashboard.accountId, Date.now())
  try {
    await shoot(dashboard, pathsOf(show))
  } finally {
    await show.stop()
  }
} finally {
  await dashboard.close()
  await closeBrowser()
  rmSync(folder, { recursive: true, force: true })
}
check()

/** The main pages by the name of their file. */
function pathsOf({ mainToken, channelId, webhookId }: Show): Record<string, string> {
  return {
    overview: '/',
    'go-live': '/live',
    stream: '/streams/main-stage',
    tokens: '/tokens/publish',
    token: `/tokens/publish/${mainToken}`,
    access: '/access',
    channel: `/channels/${channelId}`,
    webhooks: `/webhooks/${webhookId}`,
    analytics: '/analytics?span=week',
  }
}

async function shoot({ context, home }: Dashboard, paths: Record<string, string>): Promise<void> {
  const wanted = values.pages?.split(',') ?? Object.keys(paths)
  const page = await context.newPage()
  await page.goto(`${home}#/`)
  await delay(WARM_UP_MS)
  for (const name of wanted) {
    await page.goto(`${home}#${paths[name]}`)
    await prepare(page, name)
    for (const size of SIZES)
      for (const theme of THEMES) {
        await page.setViewportSize(size)
        await page.emulateMedia({ colorScheme: theme })
        await delay(SETTLE_MS)
        await write(page, `${name}-${size.width}-${theme}`)
      }
  }
}

/** What a user does before a page is worth a look. */
async function prepare(page: Page, name: string): Promise<void> {
  await page.waitForSelector('main h1')
  await delay(SETTLE_MS)
  const first: Record<string, Locator> = {
    'go-live': page.locator('.seg').getByText('Test', { exact: true }),
    stream: page.getByRole('button', { name: 'Watch here' }),
    access: page.locator('main tbody tr .row').first(),
  }
  // A page that has changed is still worth a look.
  await first[name]?.click({ timeout: 5000 }).catch((error: Error) => console.error(`${name}: ${error.message}`))
  await delay(SETTLE_MS)
}

async function write(page: Page, name: string): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  const clip = values.whole ? { clip: await wholeOf(page), captureBeyondViewport: true } : {}
  for (const quality of PACKAGED.names.includes(name) ? PACKAGED.qualities : QUALITIES) {
    const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality, ...clip })
    const image = Buffer.from(data, 'base64')
    writeFileSync(join(out, `${name}.webp`), image)
    if (image.length < FILE_MAX_BYTES) break
  }
  await devtools.detach()
}

async function wholeOf(page: Page) {
  const [width = 0, height = 0] = await page.evaluate<number[]>('[innerWidth, document.documentElement.scrollHeight]')
  return { x: 0, y: 0, width, height, scale: 1 }
}

function check(): void {
  const sizes = readdirSync(out).map((name) => ({ name, bytes: statSync(join(out, name)).size }))
  const all = sizes.reduce((sum, { bytes }) => sum + bytes, 0)
  console.log(`${sizes.length} files, ${Math.round(all / 1000)} kB`)
  for (const { name, bytes } of sizes.filter((one) => one.bytes > FILE_MAX_BYTES)) {
    console.error(`${name} has ${bytes} bytes, more than ${FILE_MAX_BYTES}`)
    process.exitCode = 1
  }
}
