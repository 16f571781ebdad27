/**
 * The delay from drawing a frame at the publisher to showing it at the viewer, in a real browser. Measured through the
 * server and, in alternation, over a direct peer connection between the same two ends of one page. The difference is
 * what the server and its answer add. Also measures how long a new viewer waits for its first frame.
 *   ROUNDS=5 CODEC=vp8 node bench/capture-to-render.ts
 */
import { openBrowser } from '../test/e2e/browser.ts'
import { servePages } from '../test/e2e/pages.ts'
import { median, report } from './lib/report.ts'
import { startServer } from './lib/server.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const CODEC = process.env['CODEC'] ?? 'h264'
const SECONDS = 8
const WARM_SECONDS = 4
const JOINS = 9
const LATENCY_MS = 45
const FIRST_FRAME_MS = 300

const [server, browser, pages] = await Promise.all([startServer(), openBrowser(), servePages()])
const streams = [{ streamName: 'bench' }]
const { token } = await server.api('POST', '/api/publish_token', { label: 'bench', streams })
const page = await browser.newPage()
await page.goto(pages.origin('page.test'))
await page.addScriptTag({ path: new URL('lib/latencyPage.js', import.meta.url).pathname, type: 'module' })
await page.waitForFunction('globalThis.latency !== undefined')

const endpoints = { whip: server.whip('bench'), whep: server.whep('bench'), token }
const ask = (what: string, options: object): Promise<number[]> =>
  page.evaluate<number[]>(`latency.${what}(${JSON.stringify({ codec: CODEC, ...options })})`)

const [direct, through]: [number[], number[]] = [[], []]
for (let round = 0; round < ROUNDS; round++) {
  const length = { seconds: SECONDS, warmSeconds: WARM_SECONDS }
  direct.push(...(await ask('measure', { server: null, ...length })))
  through.push(...(await ask('measure', { server: endpoints, ...length })))
}
const joins = await ask('join', { server: endpoints, count: JOINS })

const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
const summary = (values: readonly number[]): string =>
  `p50 ${median(values).toFixed(1)} ms, p90 ${at(values, 0.9).toFixed(1)} ms of ${values.length} frames`
const [withServer, without] = [median(through), median(direct)]
report({
  what: `Capture to render, ${CODEC.toUpperCase()}, p50 / ${LATENCY_MS} ms`,
  ratio: withServer / LATENCY_MS,
  target: 'at most 1',
  met: withServer <= LATENCY_MS,
  detail: summary(through),
})
report({
  what: 'The same / a peer connection without a server',
  ratio: withServer / without,
  target: 'none',
  met: true,
  detail: `${(withServer - without).toFixed(1)} ms more than ${summary(direct)}`,
})
report({
  what: `A viewer's first frame, p50 / ${FIRST_FRAME_MS} ms`,
  ratio: median(joins) / FIRST_FRAME_MS,
  target: 'at most 1',
  met: median(joins) <= FIRST_FRAME_MS,
  detail: joins.map((ms) => ms.toFixed(0)).join(', '),
})
await browser.close()
await pages.close()
await server.stop()
process.exit()
