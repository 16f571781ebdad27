import { launch, type Page } from 'puppeteer-core'
import { LANE_WAIT_MS } from '../lanes.ts'
import type { Tab } from './peer.ts'

/** This machine's Firefox. Playwright can drive only its own build. */
export interface Firefox {
  readonly version: string
  newPage(): Promise<Tab>
  close(): Promise<void>
}

export const FIREFOX = process.env['FIREFOX'] ?? '/usr/bin/firefox-esr'

/** With a simulated camera and microphone. Each page has a window, because a page in the background runs slower. */
export async function openFirefox(): Promise<Firefox> {
  const browser = await launch({
    browser: 'firefox',
    executablePath: FIREFOX,
    headless: true,
    timeout: LANE_WAIT_MS,
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

function tabOf(page: Page): Tab {
  page.setDefaultTimeout(LANE_WAIT_MS)
  return {
    goto: (url) => page.goto(url),
    waitForFunction: (expression) => page.waitForFunction(expression),
    evaluate: <T>(expression: string) => page.evaluate(expression) as Promise<T>,
  }
}
