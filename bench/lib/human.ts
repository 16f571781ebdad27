import type { Locator } from 'playwright-core'

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

/** What a page has that this program has not. */
interface PageNode {
  readonly textContent: string
  compareDocumentPosition(other: PageNode): number
}
interface InPage {
  readonly document: {
    querySelector(selector: string): PageNode
    createTreeWalker(root: PageNode, show: number): { nextNode(): PageNode | null }
  }
}

/** The texts of the page before an element. Runs in the page. */
function textsAbove(target: PageNode): string[] {
  const [showText, preceding] = [4, 2]
  const { document } = globalThis as unknown as InPage
  const walker = document.createTreeWalker(document.querySelector('main'), showText)
  const texts: string[] = []
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
    if ((target.compareDocumentPosition(node) & preceding) !== 0) texts.push(node.textContent)
  return texts
}

/** A person at a page. `tookS` grows with what they do. */
export class Human {
  tookS = 0
  readonly #known = new Set<string>()

  type(text: string): void {
    this.tookS += THINK_S + HOMING_S + text.length * KEY_S
  }

  /** Points at something and clicks on it. */
  point(): void {
    this.tookS += THINK_S + HOMING_S + POINT_S + CLICK_S
  }

  /** Reads what stands above a control, in the order of the page. What was read on a page before is known. */
  async #readTo(target: Locator): Promise<void> {
    const texts = (await target.evaluate(textsAbove as never)) as string[]
    for (const text of texts.filter((one) => !this.#known.has(one))) {
      this.#known.add(text)
      this.tookS += text.split(/\s+/).filter(Boolean).length * WORD_S
    }
  }

  async click(target: Locator): Promise<void> {
    await this.#readTo(target)
    this.point()
    await target.click()
  }

  async fill(field: Locator, text: string): Promise<void> {
    await this.#readTo(field)
    this.point()
    this.type(text)
    await field.fill(text)
  }
}
