/**
 * The first run from a fresh clone of the present commit: `npm ci`, `npm start`, the link, a user, a stream, live from the
 * page with the test pattern, and watched in another tab of a real Chromium. Prints for each step what the person waits,
 * measured, and what the person does, by the model of lib/human.ts, which takes no time here. `--shots DIRECTORY` writes a
 * screenshot of each step.
 *
 *   node bench/first-run.ts [--shots DIRECTORY]
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { readCommandLine } from '../scripts/commandLine.ts'
import { openBrowser } from '../test/e2e/browser.ts'
import { Human } from './lib/human.ts'
import { report } from './lib/report.ts'

const TOTAL_LIMIT_S = 120
const WAITING_LIMIT_S = 30
const LINK = /https?:\/\/\S+#\/setup\?code=[\w-]+/
/** The video of the viewer's page moves. */
const PLAYS = `document.querySelector('sluice-player')?.shadowRoot?.querySelector('video')?.currentTime > 0`
/** Longer than anything may take; then the bench fails. */
const PATIENCE_MS = 180_000

const root = fileURLToPath(new URL('..', import.meta.url))
const { shots } = readCommandLine({ options: { shots: { type: 'string' } } }).values
if (shots !== undefined) mkdirSync(shots, { recursive: true })
const folder = mkdtempSync(join(tmpdir(), 'sluice-first-run-'))
const clone = join(folder, 'sluice')
const steps: { name: string; waitingS: number; doingS: number }[] = []
const processes: ChildProcess[] = []
const human = new Human()
const busy = loadavg()[0] ?? 0

execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, clone])
try {
  await firstRun()
} finally {
  for (const child of processes) await stop(child)
  rmSync(folder, { recursive: true, force: true })
}
summary()

async function firstRun(): Promise<void> {
  await step('npm ci', async () => {
    human.type('npm ci && npm start\n')
    const install = npm('ci')
    const [status] = (await once(install, 'close')) as [number | null]
    if (status !== 0) throw new Error(`npm ci ended with ${status}`)
  })
  const link = await step('npm start, to the link', () => linkOf(npm('start')))
  const browser = await openBrowser()
  try {
    await inBrowser(await browser.newPage({ locale: 'en-GB', viewport: { width: 1280, height: 900 } }), link)
  } finally {
    await browser.close()
  }
}

async function inBrowser(page: Page, link: string): Promise<void> {
  page.setDefaultTimeout(PATIENCE_MS)
  await step('open the link', async () => {
    human.point()
    await page.goto(link)
    await heading(page, 'Welcome. Who are you?')
    await look(page)
  })
  await step('user', async () => {
    await human.fill(page.getByLabel('E-mail'), 'ann@example.com')
    await human.fill(page.getByLabel('Password'), 'a sentence is fine')
    await human.click(page.getByRole('button', { name: 'Continue' }))
    await heading(page, 'Name your first stream')
    await look(page)
  })
  await step('stream and token', async () => {
    await human.click(page.getByRole('button', { name: 'Make the stream' }))
    await heading(page, 'Go on air')
    await look(page)
  })
  await step('live', async () => {
    await human.click(page.getByRole('button', { name: 'Go live' }))
    await heading(page, 'You are live')
    await look(page)
  })
  await step('watched in another tab', async () => {
    const opened = page.waitForEvent('popup')
    await human.click(page.getByRole('link', { name: 'Open it in another tab' }))
    const viewer = await opened
    while (!(await viewer.evaluate<boolean>(PLAYS))) await delay(20)
    if (shots !== undefined) await viewer.screenshot({ path: join(shots, 'viewer.png') })
    await heading(page, 'You are live, and your first viewer watches')
    await look(page)
  })
}

async function heading(page: Page, text: string): Promise<void> {
  await page.waitForSelector(`h1:text-is("${text}")`)
}

async function look(page: Page): Promise<void> {
  if (shots === undefined) return
  const number = String(steps.length + 1).padStart(2, '0')
  await page.screenshot({ path: join(shots, `${number}.png`), fullPage: true })
}

async function step<T>(name: string, run: () => Promise<T>): Promise<T> {
  const [beganMs, didS] = [performance.now(), human.tookS]
  const result = await run()
  steps.push({ name, waitingS: (performance.now() - beganMs) / 1000, doingS: human.tookS - didS })
  return result
}

/** On a terminal, which gets the link, and without what npm or another start of Sluice put into the environment. */
function npm(command: string): ChildProcess {
  const { PATH = '', ...env } = process.env
  const given = Object.entries(env).filter(([name]) => !/^(npm_|SLUICE_|NODE_)/.test(name))
  const path = PATH.split(delimiter).filter((directory) => !directory.includes('node_modules'))
  const free = { SLUICE_SERVER_PORT: '0', SLUICE_RTMP_PORT: '0', SLUICE_SRT_PORT: '0', SLUICE_WEBRTC_PORT: '0' }
  const child = spawn('script', ['--quiet', '--flush', '--command', `npm ${command}`, '--return', '/dev/null'], {
    cwd: clone,
    env: { ...Object.fromEntries(given), PATH: path.join(delimiter), ...free },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  })
  processes.push(child)
  return child
}

function linkOf(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    server.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const link = LINK.exec(text)?.[0]
      if (link !== undefined) resolve(link)
    })
    server.on('close', () => reject(new Error(`npm start ended: ${text}`)))
    setTimeout(() => reject(new Error(`no link: ${text}`)), PATIENCE_MS).unref()
  })
}

/** npm and all that it started. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  process.kill(-child.pid, 'SIGTERM')
  await once(child, 'exit')
}

function summary(): void {
  console.log('step                     waits s   does s')
  for (const { name, waitingS, doingS } of steps)
    console.log(`${name.padEnd(24)}${waitingS.toFixed(1).padStart(8)}${doingS.toFixed(1).padStart(9)}`)
  compare('first run from the clone', steps)
  compare(
    'first run from the link',
    steps.filter(({ name }) => !name.startsWith('npm')),
  )
}

function compare(what: string, some: typeof steps): void {
  const waitingS = some.reduce((sum, one) => sum + one.waitingS, 0)
  const totalS = waitingS + some.reduce((sum, one) => sum + one.doingS, 0)
  limit(`${what}, of the limit`, totalS, TOTAL_LIMIT_S)
  limit(`waiting in the ${what}, of the limit`, waitingS, WAITING_LIMIT_S)
}

function limit(what: string, seconds: number, limitS: number): void {
  const detail = `${seconds.toFixed(0)} s of ${limitS} s; load of the machine before: ${busy.toFixed(1)}`
  report({ what, ratio: seconds / limitS, target: '<= 1', met: seconds <= limitS, detail })
}
