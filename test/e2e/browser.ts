import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'
import { LANE_WAIT_MS } from '../lanes.ts'

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--use-fake-ui-for-media-stream',
  '--use-fake-device-for-media-stream',
  '--autoplay-policy=no-user-gesture-required',
  // Both pages of a test are active, whichever is in front.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
]

/** The one without windows needs a third less of the processor. */
const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

let open: Promise<Browser> | undefined

/**
 * This machine's browser, with a simulated camera and microphone. All `.test` host names resolve to this machine. The
 * files of a process share one, which ends with the process; each closes its pages.
 */
export async function openBrowser(): Promise<Browser> {
  const earlier = await open?.catch(() => undefined)
  if (earlier?.isConnected()) return earlier
  open = launch()
  return open
}

/** Closes all pages, with what they have stored. */
export async function closePages(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()))
}

/** Ends the browser, where the process goes on. Scripts and benches call it; a process of tests ends with it open. */
export async function closeBrowser(): Promise<void> {
  await (await open?.catch(() => undefined))?.close()
}

/** A browser of its own. @param more arguments of Chromium */
export async function launch(more: readonly string[] = []): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'] ?? PROGRAMS.find((program) => existsSync(program))
  if (executablePath === undefined) throw new Error(`No Chromium: neither ${PROGRAMS.join(' nor ')} is there.`)
  const browser = await chromium.launch({
    executablePath,
    args: [...ARGUMENTS, '--host-resolver-rules=MAP *.test 127.0.0.1', ...more],
  })
  browser.on('context', (context) => context.setDefaultTimeout(LANE_WAIT_MS))
  return browser
}
