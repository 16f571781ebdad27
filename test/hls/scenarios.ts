import type { ChildProcess } from 'node:child_process'
import { until } from '../support/until.ts'
import type { HlsServer } from './server.ts'
import { isSource, pushSource, type SourceName, SOURCES } from './sources.ts'

/** A stream that is watched. */
export type Kind = 'broadcast' | 'channel'

/** One of them, with what can happen to it. */
export interface WatchedStream {
  readonly kind: Kind
  /** The master playlist. */
  readonly url: string
  readonly publisher: Publisher
  /** The processes that encode it. */
  readonly encoders: () => Promise<number[]>
}

export interface Scenario {
  readonly source: SourceName
  readonly kinds: readonly Kind[]
  /** How long the server may be away, milliseconds. */
  readonly outageMs: number
  /** Happens once a minute. */
  readonly disturb: (server: HlsServer, streams: readonly WatchedStream[]) => Promise<void>
}

const BOTH: readonly Kind[] = ['broadcast', 'channel']
/** For a server that starts again, and a publisher that comes back, on a busy machine. */
const OUTAGE_MS = 20_000

const restarted = (signal: NodeJS.Signals): Scenario => ({
  source: 'plain',
  kinds: BOTH,
  outageMs: OUTAGE_MS,
  disturb: (server) => server.restart(signal),
})

const DISTURBED = {
  'publisher-swapped': {
    source: 'plain',
    kinds: BOTH,
    outageMs: 0,
    disturb: async (_, streams) => streams.forEach(({ publisher }) => publisher.swap()),
  },
  // A broadcast of H.264 and AAC has no process.
  'ffmpeg-killed': {
    source: 'plain',
    kinds: ['channel'],
    outageMs: 0,
    disturb: async (_, streams) => {
      for (const { encoders } of streams) for (const pid of await encoders()) process.kill(pid, 'SIGKILL')
    },
  },
  'server-killed': restarted('SIGKILL'),
  'server-restarted': restarted('SIGTERM'),
} as const satisfies Readonly<Record<string, Scenario>>

const undisturbed = (source: SourceName): Scenario => ({
  source,
  kinds: BOTH,
  outageMs: 0,
  disturb: async () => undefined,
})

export const SCENARIO_NAMES: readonly string[] = [...Object.keys(SOURCES), ...Object.keys(DISTURBED)]

/** Null: there is none with this name. */
export function scenarioOf(name: string): Scenario | null {
  if (isSource(name)) return undisturbed(name)
  return Object.entries(DISTURBED).find(([key]) => key === name)?.[1] ?? null
}

const RETRY_MS = 500

/** Pushes a source. Connects again when it is cut, as publishers do. */
class Publisher {
  readonly #source: SourceName
  readonly #url: string
  #current: ChildProcess

  constructor(source: SourceName, url: string) {
    this.#source = source
    this.#url = url
    this.#current = this.#push()
  }

  /** Another publisher takes its place. */
  swap(): void {
    this.#current = this.#push()
  }

  #push(): ChildProcess {
    const child = pushSource(this.#source, this.#url, 'ignore')
    child.once('exit', (_, signal) => {
      // `endChildren` kills it.
      if (this.#current !== child || signal === 'SIGKILL') return
      setTimeout(() => {
        if (this.#current === child) this.#current = this.#push()
      }, RETRY_MS)
    })
    return child
  }
}

/** Pushes a source until `endChildren`. */
export const keepPushing = (source: SourceName, url: string): Publisher => new Publisher(source, url)

/** Starts a stream, and waits until it can be watched. */
export function openStream(server: HlsServer, kind: Kind, source: SourceName): Promise<WatchedStream> {
  return kind === 'broadcast' ? openBroadcast(server, source) : openChannel(server, source)
}

async function openBroadcast(server: HlsServer, source: SourceName): Promise<WatchedStream> {
  const streams = [{ streamName: 'show' }]
  const { token } = await server.made('POST', '/api/publish_token', { label: 'hls', streams })
  const publisher = keepPushing(source, `${server.rtmp}/v2/pub/show?token=${token}`)
  const url = `${server.url}/hls/${server.accountId}/show/index.m3u8`
  await until(async () => (await fetch(url)).ok, 'a playlist of the broadcast')
  return { kind: 'broadcast', url, publisher, encoders: async () => [] }
}

/** A channel with two renditions. */
async function openChannel(server: HlsServer, source: SourceName): Promise<WatchedStream> {
  const video = [
    { width: 320, height: 180, bitrate: 300_000 },
    { width: 160, height: 90, bitrate: 100_000 },
  ]
  const ladder = await server.made('POST', '/v2/abr', { name: 'small', video })
  const engines = [{ name: 'Main', quality: { abrLadderId: ladder.id } }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines }]
  const distributions = [{ name: 'Web' }]
  const channel = await server.made('POST', '/v2/channels', { name: 'Stage', ingests, distributions })
  await server.made('POST', `/v2/channels/${channel.id}/start`)
  const publisher = keepPushing(source, `${server.rtmp}/live/${channel.ingests[0].streamKey}`)
  const url = `${server.url}/v2/distributions/${channel.distributions[0].id}/hls/main.m3u8`
  await until(async () => (await fetch(url)).ok, 'a playlist of the channel')
  return { kind: 'channel', url, publisher, encoders: () => server.engine(channel.engines[0].id) }
}
