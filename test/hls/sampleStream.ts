import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { ownPort } from '../support/ownPort.ts'
import { FRAME_SECONDS, sampleInit, samplePart } from './sampleMedia.ts'

/** A segment lasts a second and has five parts. */
const PARTS = 5
const PART_SECONDS = 0.2
const FRAMES = PART_SECONDS / FRAME_SECONDS
const LISTED = 10
const LISTED_WITH_PARTS = 2
/** What a stream has made before its first viewer. */
const MADE_BEFORE = 12 * PARTS + 2
const STARTED_AT_MS = Date.parse('2026-01-01T00:00:00.000Z')
const SIZES = { v0: [640, 360], v1: [320, 180] } as const
/** Far faster than the media plays, so that a test takes little time. */
const PART_EVERY_MS = 50

const isNew = (part: number): boolean => part % PARTS === 0

export const partBytes = (part: number): Buffer => samplePart({ from: part * FRAMES, frames: FRAMES, key: isNew(part) })

export const segmentBytes = (segment: number): Buffer =>
  Buffer.concat(Array.from({ length: PARTS }, (_, index) => partBytes(segment * PARTS + index)))

export const initBytes = (rendition: keyof typeof SIZES = 'v0'): Buffer =>
  sampleInit(SIZES[rendition][0], SIZES[rendition][1])

const partTag = (part: number): string =>
  `#EXT-X-PART:DURATION=${PART_SECONDS.toFixed(3)},URI="p${part}.m4s"${isNew(part) ? ',INDEPENDENT=YES' : ''}`

const partTags = (segment: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => partTag(segment * PARTS + index))

const dateTag = (segment: number): string =>
  `#EXT-X-PROGRAM-DATE-TIME:${new Date(STARTED_AT_MS + segment * 1000).toISOString()}`

/** A playlist that breaks no rule, after `made` parts. */
export function samplePlaylist(made: number): string {
  const [next, parts] = [Math.floor(made / PARTS), made % PARTS]
  const first = next - LISTED
  const numbers = Array.from({ length: LISTED }, (_, index) => first + index)
  return [
    '#EXTM3U',
    '#EXT-X-VERSION:9',
    '#EXT-X-TARGETDURATION:1',
    '#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,HOLD-BACK=3,PART-HOLD-BACK=0.600',
    `#EXT-X-PART-INF:PART-TARGET=${PART_SECONDS.toFixed(3)}`,
    `#EXT-X-MEDIA-SEQUENCE:${first}`,
    '#EXT-X-DISCONTINUITY-SEQUENCE:3',
    '#EXT-X-INDEPENDENT-SEGMENTS',
    '#EXT-X-MAP:URI="init.mp4"',
    ...numbers.flatMap((number) => [
      dateTag(number),
      ...(number >= next - LISTED_WITH_PARTS ? partTags(number, PARTS) : []),
      '#EXTINF:1.000,',
      `s${number}.m4s`,
    ]),
    ...(parts > 0 ? [dateTag(next), ...partTags(next, parts)] : []),
    `#EXT-X-PRELOAD-HINT:TYPE=PART,URI="p${made}.m4s"`,
    '',
  ].join('\n')
}

export const SAMPLE_MASTER = [
  '#EXTM3U',
  '#EXT-X-VERSION:9',
  '#EXT-X-INDEPENDENT-SEGMENTS',
  ...Object.entries(SIZES).flatMap(([name, [width, height]]) => [
    `#EXT-X-STREAM-INF:BANDWIDTH=30000,AVERAGE-BANDWIDTH=28000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=${width}x${height},FRAME-RATE=50.000`,
    `~VIEWER/${name}/media.m3u8`,
  ]),
  '',
].join('\n')

/** An answer of the server, which a test may change. */
export interface Sent {
  status: number
  headers: Record<string, string>
  body: Buffer
}

/** What a test changes. `path` without the viewer: `v0/media.m3u8?_HLS_msn=12&_HLS_part=1`. */
export type Tamper = (sent: Sent, path: string, viewer: string) => void

export interface SampleServer {
  readonly url: string
  /** Refuses two connections. The stream goes on. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** Ends this number of connections at once. */
async function refuse(port: number, connections: number): Promise<void> {
  const refusing = createTcpServer((socket) => void socket.resetAndDestroy()).listen(port, '127.0.0.1')
  for (let left = connections; left > 0; left -= 1) await once(refusing, 'connection')
  await once(refusing.close(), 'close')
}

/** A stream that goes on by a part every 50 ms. */
export async function sampleServer(tamper: Tamper = () => undefined): Promise<SampleServer> {
  let made = MADE_BEFORE
  let viewers = 0
  const waiting = new Set<() => void>()
  const going = setInterval(() => {
    made += 1
    for (const look of waiting) look()
  }, PART_EVERY_MS)
  const until = (part: number): Promise<void> =>
    new Promise((resolve) => {
      const look = () => {
        if (made <= part) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'http://localhost')
    const [, viewer = '', name = ''] = /^\/~(\w+)\/(.*)$/.exec(url.pathname) ?? []
    const sent = viewer === '' ? master(++viewers) : await piece(name, url.searchParams, until, () => made)
    tamper(sent, `${name}${url.search}`, viewer)
    send(sent, request, response)
  }
  const server = createServer((request, response) => void answer(request, response))
  const listen = (port: number): Promise<void> =>
    new Promise((resolve) => void server.listen(port, '127.0.0.1', resolve))
  const stop = async (): Promise<void> => {
    const stopped = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await stopped
  }
  const port = await ownPort()
  await listen(port)
  return {
    url: `http://127.0.0.1:${port}/index.m3u8`,
    async restart() {
      await stop()
      await refuse(port, 2)
      await listen(port)
    },
    async close() {
      clearInterval(going)
      await stop()
    },
  }
}

const PLAYLIST = 'application/vnd.apple.mpegurl'

const sentOf = (body: Buffer, type: string, cache: string): Sent => ({
  status: 200,
  headers: { 'content-type': type, 'cache-control': cache, 'access-control-allow-origin': '*' },
  body,
})

const master = (viewer: number): Sent =>
  sentOf(Buffer.from(SAMPLE_MASTER.replaceAll('VIEWER', String(viewer))), PLAYLIST, 'no-store')

async function piece(
  name: string,
  query: URLSearchParams,
  until: (part: number) => Promise<void>,
  made: () => number,
): Promise<Sent> {
  const [rendition = 'v0', file = ''] = name.split('/')
  const [, kind, digits] = /^([ps])(\d+)\.m4s$/.exec(file) ?? []
  const number = Number(digits)
  if (file === 'init.mp4') return sentOf(initBytes(rendition as keyof typeof SIZES), 'video/mp4', 'public, max-age=60')
  if (kind === 'p' && number <= made()) {
    await until(number)
    return sentOf(partBytes(number), 'video/mp4', 'public, max-age=60')
  }
  if (kind === 's' && number < made() / PARTS) return sentOf(segmentBytes(number), 'video/mp4', 'public, max-age=60')
  if (file !== 'media.m3u8') return { ...sentOf(Buffer.from('none'), 'text/plain', 'no-store'), status: 404 }
  const [msn, part] = [query.get('_HLS_msn'), query.get('_HLS_part')]
  if (msn !== null) await until(Number(msn) * PARTS + Number(part ?? PARTS - 1))
  const text = samplePlaylist(made())
  return sentOf(Buffer.from(text), PLAYLIST, msn === null ? 'no-cache' : 'public, max-age=6')
}

function send({ status, headers, body }: Sent, request: IncomingMessage, response: ServerResponse): void {
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
  const isText = headers['content-type'] === PLAYLIST
  const isPart = from !== undefined && status === 200 && !isText
  const whole = isText ? gzipSync(body) : body
  const sent = isPart ? body.subarray(Number(from), Number(to) + 1) : whole
  response.writeHead(isPart ? 206 : status, {
    'content-length': sent.length,
    ...(isText ? { 'content-encoding': 'gzip' } : {}),
    ...(isPart ? { 'content-range': `bytes ${from}-${to}/${body.length}` } : {}),
    ...headers,
  })
  response.end(sent)
}
