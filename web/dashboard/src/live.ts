import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { type Answer, listStreamsOnAir } from '#api/tokens.ts'
import { readSession } from '#api/dashboard.ts'
import { ApiError, call, callPage, everyRow } from './api/call.ts'

export type StreamOnAir = Answer<typeof listStreamsOnAir>[number]

/** Whether the page follows what happens. `polling`: it asks every few seconds, because no event stream is open. */
export type Updates = 'connecting' | 'on' | 'polling' | 'off'

/** Something that happened while the page was open. */
export interface Happening {
  readonly id: number
  /** By the clock of this browser; a start by that of the server. */
  readonly at: string
  readonly what: 'started' | 'ended' | 'impaired' | 'uneven' | 'stalled' | 'steady'
  readonly streamName: string
  readonly detail: string
}

export const updates = signal<Updates>('connecting')

/** The streams on the air, by name; null: not known yet. */
export const streams = signal<readonly StreamOnAir[] | null>(null)
export const happenings = signal<readonly Happening[]>([])
/** Grows with each refusal that the server reports, so that counts are loaded again. */
export const refusals = signal(0)
/** Grows with decisions that the access log has now, at the node that this page talks to. */
export const decisions = signal(0)
/** Grows when sessions begin, end or move bytes. */
export const sessionNews = signal(0)
/** Grows when a stream begins or ends. */
export const starts = signal(0)
/** Grows when a webhook or an engine changes. */
export const changes = signal(0)

/** Grows with what users and clients change: by kind, and for what may have been missed. */
const edits = signal<ReadonlyMap<string, number>>(new Map())
/** Grows when the page has got the whole state, as after the server was away. */
export const resets = signal(0)

/** Changes with each edit of these kinds, at any node. */
const editsOf = (...kinds: readonly string[]): ReadonlySignal<number> =>
  computed(() => kinds.reduce((sum, kind) => sum + (edits.value.get(kind) ?? 0), resets.value))

export const tokenEdits = editsOf('publish_token', 'subscribe_token')
export const channelEdits = editsOf('channel', 'ingest', 'engine', 'distribution', 'abr_ladder', 'scheduler')
export const webhookEdits = editsOf('webhook')
export const recordingEdits = editsOf('recording')
export const secretEdits = editsOf('secret', 'credential')
export const accountEdits = editsOf('account')
export const userEdits = editsOf('user', 'session', 'passkey')

/** The bitrate of each stream in the last five minutes. */
export const bitrates = signal<ReadonlyMap<string, readonly number[]>>(new Map())

/** Changes when a stream begins or ends, or has another number of viewers. */
export const audiences = computed(() =>
  (streams.value ?? []).map(({ streamName, viewers }) => `${streamName} ${viewers}`).join('\n'),
)

export const totals = computed(() => {
  const all = streams.value ?? []
  const sum = (of: (one: StreamOnAir) => number | undefined) => all.reduce((total, one) => total + (of(one) ?? 0), 0)
  return {
    viewers: sum(({ viewers }) => viewers),
    bitrateIn: sum(({ bitrateIn }) => bitrateIn),
    bitrateOut: sum(({ bitrateOut }) => bitrateOut),
    whep: sum(({ viewersByProtocol }) => viewersByProtocol.whep),
    hls: sum(({ viewersByProtocol }) => viewersByProtocol.hls),
  }
})

const HAPPENINGS_MAX = 30
/** Five minutes of figures each two seconds. */
const BITRATES_MAX = 150
const AGAIN_MS = 4000
/** A proxy that holds answers back until they are whole gives no event stream. */
const OPENS_MS = 10_000

/**
 * Follows what happens until the returned function is called. One connection serves all pages of a tab. A tab in the background has
 * none: without HTTP/2 a browser opens six to a server for all tabs together, and the seventh tab would load nothing.
 */
export function followLive(): () => void {
  let following: AbortController | null = null
  const show = (): void => {
    following?.abort()
    following = document.visibilityState === 'visible' ? new AbortController() : null
    if (following) void follow(following.signal)
  }
  document.addEventListener('visibilitychange', show)
  show()
  return () => {
    document.removeEventListener('visibilitychange', show)
    following?.abort()
  }
}

/** The browser connects again by itself after an interruption, but not after a refusal; then the page asks instead. */
async function follow(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await listen(signal)
    if (signal.aborted) return
    await poll(signal)
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

/** Resolves when the event stream is refused, or does not begin. */
function listen(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const source = new EventSource(new URL('api/events', document.baseURI))
    const close = (): void => {
      clearTimeout(late)
      signal.removeEventListener('abort', close)
      source.close()
      resolve()
    }
    const late = setTimeout(close, OPENS_MS)
    signal.addEventListener('abort', close)
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) close()
      else updates.value = 'off'
    })
    for (const [name, take] of Object.entries(TAKE))
      source.addEventListener(name, ({ data }: MessageEvent<string>) => {
        updates.value = 'on'
        take(JSON.parse(data) as never)
      })
    source.addEventListener('open', () => {
      clearTimeout(late)
      if (updates.value === 'off') updates.value = 'on'
    })
  })
}

/** Asks once. An ended session lets the user sign in again first. */
async function poll(signal: AbortSignal): Promise<void> {
  try {
    await call(readSession, {}, { signal })
    const rows = await everyRow((cursor) => callPage(listStreamsOnAir, { query: { limit: 100, cursor } }, { signal }))
    updates.value = 'polling'
    replace(rows)
  } catch (error) {
    if (error instanceof ApiError) updates.value = 'off'
  }
}

type Figures = Partial<StreamOnAir> & Pick<StreamOnAir, 'streamName'>

const TAKE = {
  reset: ({ streams: all }: { streams: readonly StreamOnAir[] }) => replace(all),
  streamStarted: (stream: StreamOnAir) => {
    put(stream)
    starts.value += 1
    const detail = [stream.tokenLabel, stream.protocol.toUpperCase()].filter(Boolean).join(', ')
    note('started', stream.streamName, detail, stream.startedOn)
  },
  streamChanged: (stream: StreamOnAir) => {
    const before = (streams.value ?? []).find(({ streamName }) => streamName === stream.streamName)
    put(stream)
    if (before && before.health !== stream.health) note(stream.health, stream.streamName, stream.tokenLabel ?? '')
  },
  streamEnded: ({ streamName }: { streamName: string }) => {
    streams.value = (streams.value ?? []).filter((one) => one.streamName !== streamName)
    sessionNews.value += 1
    starts.value += 1
    note('ended', streamName, '')
  },
  figures: ({ streams: changed }: { streams: readonly Figures[] }) => {
    const byName = new Map(changed.map((one) => [one.streamName, one]))
    streams.value = (streams.value ?? []).map((one) => ({ ...one, ...byName.get(one.streamName) }))
    sessionNews.value += 1
    sample()
  },
  refusals: () => {
    refusals.value += 1
  },
  decisions: () => {
    decisions.value += 1
  },
  edited: ({ kinds }: { kinds: readonly string[] }) => {
    edits.value = new Map([...edits.value, ...kinds.map((kind) => [kind, (edits.value.get(kind) ?? 0) + 1] as const)])
  },
  webhookPaused: changed,
  webhookResumed: changed,
  engineChanged: changed,
}

function changed(): void {
  changes.value += 1
}

const byName = (all: readonly StreamOnAir[]): StreamOnAir[] =>
  all.toSorted((a, b) => (a.streamName < b.streamName ? -1 : 1))

/** Takes the whole state, after which anything may have changed. */
function replace(all: readonly StreamOnAir[]): void {
  streams.value = byName(all)
  for (const news of [sessionNews, starts, decisions, refusals, resets]) news.value += 1
  sample()
}

function put(stream: StreamOnAir): void {
  const others = (streams.value ?? []).filter(({ streamName }) => streamName !== stream.streamName)
  streams.value = byName([...others, stream])
  sessionNews.value += 1
}

function sample(): void {
  const next = (streams.value ?? []).map(({ streamName, bitrateIn = 0 }) => {
    const before = bitrates.value.get(streamName) ?? []
    return [streamName, [...before.slice(1 - BITRATES_MAX), bitrateIn]] as const
  })
  bitrates.value = new Map(next)
}

let count = 0

function note(what: Happening['what'], streamName: string, detail: string, at = new Date().toISOString()): void {
  const happening = { id: (count += 1), at, what, streamName, detail }
  happenings.value = [happening, ...happenings.value].slice(0, HAPPENINGS_MAX)
}
