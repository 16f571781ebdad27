/**
 * What open overviews of the dashboard cost the server with 1,000 live sessions: 100 streams whose figures change, with 9
 * viewers each. An open overview is its event stream and what its page asks for meanwhile: the thumbnails of 60 cards each
 * 10 s, and the plots each minute. Prints the processor time of the server with 1 and with 10 of them, less that with none.
 *
 *   node bench/open-overview.ts
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { countBytes, noteTracks } from '../src/commands/sessions/count.ts'
import { runApp } from '../test/support/app.ts'
import { crowd } from '../test/support/crowd.ts'
import { type Browser, browserOf } from '../test/support/dashboard.ts'
import { ScriptedEngine } from '../test/support/scriptedEngine.ts'
import { makeToken, publish } from '../test/support/testNode.ts'
import { report } from './lib/report.ts'

const STREAMS = 100
const VIEWERS = 9
const CARDS = 60
const CARDS_EVERY_MS = 10_000
const MANY = 10
const WARM_UP_MS = 5000
const MEASURED_MS = 20_000
/** Of a core, for each open dashboard. */
const LIMIT = 0.01
const VIDEO = { kind: 'video', codec: 'h264', width: 1920, height: 1080, config: new Uint8Array() } as const

const percent = (part: number): string => `${(100 * part).toFixed(2)}%`

interface Ready {
  readonly base: string
  readonly cookie: string
}

if (process.argv[2] === '--server') await serve()
else await measure()

/** Answers each message with the processor time so far, in microseconds. */
async function serve(): Promise<void> {
  const sluice = await runApp({ flags: { rtmp: { enabled: false } }, engine: new ScriptedEngine() })
  const { ctx } = sluice.app
  const { token } = await makeToken(sluice, 'publish', { streams: [{ streamName: '.*', isRegex: true }] })
  const ids: string[] = []
  for (let at = 0; at < STREAMS; at++) {
    const streamName = `stream-${at}`
    const { session } = await publish({ ctx }, { presented: token, streamName })
    noteTracks(ctx, session.id, [VIDEO])
    const viewers = await crowd(ctx, sluice.accountId, streamName, VIEWERS)
    ids.push(session.id, ...viewers.map(({ id }) => id))
  }
  setInterval(() => ids.forEach((id, at) => count(id, at)), 1000)
  const count = (id: string, at: number): void => {
    const { bytes, media } = ctx.sessions.get(id) ?? {}
    if (!bytes) return
    const more = 400_000 + Math.round(Math.random() * 100_000)
    const [bytesIn, bytesOut] = at % (VIEWERS + 1) === 0 ? [bytes.bytesIn + more, 0] : [0, bytes.bytesOut + more]
    countBytes(ctx, id, { bytesIn, bytesOut, frames: (media?.frames ?? 0) + 30 })
  }
  const { cookie }: Browser = await browserOf(sluice)
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.(user + system)
  })
  process.on('disconnect', () => void sluice.close().then(() => process.exit()))
  process.send?.({ base: sluice.base, cookie } satisfies Ready)
}

async function measure(): Promise<void> {
  const server = fork(import.meta.filename, ['--server'])
  const [ready] = (await once(server, 'message')) as [Ready]
  const cpuUs = async (): Promise<number> => {
    server.send('cpu')
    return ((await once(server, 'message')) as [number])[0]
  }
  /** The share of a core that the server takes while this many overviews are open. */
  const share = async (open: number): Promise<number> => {
    const closing = new AbortController()
    for (let at = 0; at < open; at++) overview(ready, closing.signal)
    await delay(WARM_UP_MS)
    const [beganMs, beganUs] = [performance.now(), await cpuUs()]
    await delay(MEASURED_MS)
    const used = ((await cpuUs()) - beganUs) / 1000 / (performance.now() - beganMs)
    closing.abort()
    return used
  }
  const none = await share(0)
  line('the only one', (await share(1)) - none, none)
  line(`each of ${MANY}`, ((await share(MANY)) - none) / MANY, none)
  server.disconnect()
}

function line(what: string, used: number, none: number): void {
  report({
    what: `processor time for an open overview, ${what}, of the limit`,
    ratio: used / LIMIT,
    target: '<= 1',
    met: used <= LIMIT,
    detail: `${percent(used)} of a core, limit ${percent(LIMIT)}; without any ${percent(none)}`,
  })
}

function overview({ base, cookie }: Ready, signal: AbortSignal): void {
  const get = async (path: string): Promise<void> => {
    const response = await fetch(`${base}/dashboard/api${path}`, { headers: { cookie }, signal })
    for await (const _ of response.body ?? []);
  }
  const card = async (at: number): Promise<void> => {
    await delay((at * CARDS_EVERY_MS) / CARDS, undefined, { signal })
    while (!signal.aborted) {
      await get(`/streams/stream-${at}/thumbnail`)
      await delay(CARDS_EVERY_MS, undefined, { signal })
    }
  }
  const parts = [
    get('/events'),
    get('/analytics/live_series?range=hour'),
    ...Array.from({ length: CARDS }, (_, at) => card(at)),
  ]
  for (const part of parts) part.catch(() => undefined)
}
