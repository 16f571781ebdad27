import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import type { AxeResults } from 'axe-core'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, onTestFinished } from 'vitest'
import { setStage, type Stage } from '../sluice.ts'
import { buildPages } from './build.ts'

export const ADMIN = { email: 'ann@example.com', password: 'a sentence is fine' } as const

type Theme = 'light' | 'dark'

/** A server with its dashboard, and a browser in which the first user is signed in. */
export interface Dashboard extends Stage {
  /** The address of the dashboard, with `/` at its end. */
  readonly home: string
  readonly context: BrowserContext
  /** Reports of the Content-Security-Policy, errors of scripts, and errors in the console, of every page so far. */
  readonly complaints: string[]
  /** A signed-in page at a path of the dashboard, such as `/live`. */
  open(path: string, options?: { width?: number; theme?: Theme }): Promise<Page>
  /** A browser of another person, who is not signed in. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>
}

/** How a name stands in a sentence of the pages that it would turn: between U+2068 and U+2069. */
export const inSentence = (name: string): string => `\u2068${name}\u2069`

/** The dashboard of the tests of a file. The pages that a test opens close with it, and none of them may complain. */
export function useDashboard(settings: Record<string, string> = {}, start = openDashboard): Dashboard {
  const dashboard = {} as Dashboard
  beforeAll(async () => {
    const started = await start(settings)
    const open: Dashboard['open'] = async (...of) => {
      const page = await started.open(...of)
      onTestFinished(() => page.close())
      return page
    }
    Object.assign(dashboard, started, { open })
  })
  afterEach(() => expect(dashboard.complaints.splice(0)).toEqual([]))
  afterAll(() => dashboard.close())
  return dashboard
}

/** Starts a server with a dashboard and makes its first user, by a link. */
export async function openDashboard(settings: Record<string, string> = {}): Promise<Dashboard> {
  const dashboard = await openUnclaimed(settings)
  const code = new URLSearchParams((await dashboard.userLink()).split('?')[1]).get('code')
  const response = await dashboard.context.request.post(`${dashboard.home}api/setup`, {
    headers: { 'X-Sluice-Dashboard': '1' },
    data: { code, ...ADMIN },
  })
  if (!response.ok()) throw new Error(`setup: ${response.status()} ${await response.text()}`)
  return dashboard
}

/** As `openDashboard`, before anyone has used the link. */
export async function openUnclaimed(settings: Record<string, string> = {}): Promise<Dashboard> {
  await buildPages('dashboard')
  const stage = await setStage(settings)
  const home = `${stage.server.url}/dashboard/`
  const complaints: string[] = []
  const newContext = async (options: BrowserContextOptions = {}): Promise<BrowserContext> => {
    // Without a graphics card each frame of an animation costs as much as the script of the page.
    const common = { locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' } as const
    const context = await stage.browser.newContext({ ...common, ...options })
    await context.addInitScript({ content: `${AXE}\n${REPORTS}` })
    context.on('page', (page) => collect(page, complaints))
    return context
  }
  const context = await newContext()
  const spare: Page[] = []
  const open: Dashboard['open'] = async (path, { width = 1280, theme = 'light' } = {}) => {
    const page = spare.pop() ?? reusable(await context.newPage(), home, spare)
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme: theme })
    await page.goto(`${home}#${path}`)
    return page
  }
  return { ...stage, home, context, complaints, open, newContext }
}

/**
 * Keeps the page for the next test when it is closed, without its state: a browser needs longer to start a page than to
 * load the dashboard. It shows a picture of the same site meanwhile, which keeps its process and follows no events. Beside
 * another page it really closes, so that the other one is in front again.
 */
function reusable(page: Page, home: string, spare: Page[]): Page {
  const end = page.close.bind(page)
  page.close = async () => {
    if (page.isClosed() || spare.includes(page)) return
    if (page.context().pages().length > 1) return end()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.evaluate('sessionStorage.clear()')
    await page.goto(`${home}sluice.svg`)
    spare.push(page)
  }
  return page
}

// The policy of the pages forbids code that comes as text, so axe is there before the page is.
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const REPORTS = `addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sourceFile, lineNumber }) =>
  console.error(\`policy: \${effectiveDirective} forbids \${blockedURI} at \${sourceFile}:\${lineNumber}\`))`

/** Refusals of operations are no complaint: the page shows them. */
const isRefusal = (text: string): boolean => text.startsWith('Failed to load resource')

function collect(page: Page, complaints: string[]): void {
  page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' && !isRefusal(message.text())) complaints.push(`${page.url()}: ${message.text()}`)
  })
}

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** What a theme changes: colours alone. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** What axe finds wrong with a page in light and in dark, one line for each element. */
export async function axe(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    const runOnly = colorScheme === 'dark' ? COLOUR_RULES : RULES
    for (const { id, help, nodes } of await page.evaluate(runAxe, runOnly))
      found.push(
        ...nodes.map(({ html, failureSummary }) => `${colorScheme} ${id} (${help}): ${html} ${failureSummary}`),
      )
  }
  return found
}

/** What a page has that this program has not. */
interface InPage {
  readonly document: unknown
  readonly axe: { run(context: unknown, options: object): Promise<AxeResults> }
}

/** Describes and returns the violations alone: what passes is most of the work of axe otherwise. */
async function runAxe(runOnly: string[]): Promise<AxeResults['violations']> {
  const { document, axe: checker } = globalThis as unknown as InPage
  const { violations } = await checker.run(document, { runOnly, resultTypes: ['violations'] })
  return violations
}
