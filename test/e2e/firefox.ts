import { launch, type Page } from 'puppeteer-core'
import type { Tab } from './peer.ts'

/** The Firefox of this machine. Playwright drives one of its own build only. */
export interface Firefox {
  readonly version: string
  newPage(): Promise<Tab>
  close(): Promise<void>
}

export const FIREFOX = process.env['FIREFOX'] ?? '/usr/bin/firefox-esr'

/** With a camera and a microphone of its own making. Each page has a window: one in the background would be slowed down. */
export async function openFirefox(): Promise<Firefox> {
  const browser = await launch({
    browser: 'firefox',
    executablePath: FIREFOX,
    headless: true,
    extraPrefsFirefox: {
      'media.navigator.permission.disabled': true,
      'media.peerconnection.ice.loopback': true,
      'media.navigator.streams.fake': true,
      'media.autoplay.default': 0,
      'media.autoplay.blocking_policy': 0,
    },
  })
  return {
    version: await browser.version(),
    newPage: async () => tabOf(await browser.newPage({ type: 'window' })),
    close: () => browser.close(),
  }
}

const tabOf = (page: Page): Tab => ({
  goto: (url) => page.goto(url),
  waitForFunction: (expression) => page.waitForFunction(expression),
  evaluate: <T>(expression: string) => page.evaluate(expression) as Promise<T>,
})
