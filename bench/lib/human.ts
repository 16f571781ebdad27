import type { Locator, Page } from 'playwright-core'

/**
 * What a person needs for an action, in seconds: the keystroke-level model of Card, Moran and Newell (1980) with its
 * average typist, and 238 words a minute for silent reading (Brysbaert, 2019). The bench adds these up and does not
 * wait for them.
 */
const KEY_S = 0.28
const POINT_S = 1.1
const CLICK_S = 0.2
const HOMING_S = 0.4
const THINK_S = 1.35
const WORD_S = 60 / 238

/** A person at a page. `tookS` grows with what they do. */
export class Human {
  tookS = 0

  type(text: string): void {
    this.tookS += THINK_S + HOMING_S + text.length * KEY_S
  }

  /** Points at something and clicks on it. */
  point(): void {
    this.tookS += THINK_S + HOMING_S + POINT_S + CLICK_S
  }

  /** Reads every word that the page shows now. */
  async read(page: Page): Promise<void> {
    const text = await page.locator('main').innerText()
    this.tookS += text.split(/\s+/).filter(Boolean).length * WORD_S
  }

  async click(target: Locator): Promise<void> {
    this.point()
    await target.click()
  }

  async fill(field: Locator, text: string): Promise<void> {
    this.tookS += HOMING_S + POINT_S + CLICK_S
    this.type(text)
    await field.fill(text)
  }
}
