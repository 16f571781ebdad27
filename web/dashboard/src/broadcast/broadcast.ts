import { signal } from '@preact/signals'
import { type MediaStats, SluiceError, WhipPublisher } from '../../../client/index.ts'
import { onAir } from '../onAir.ts'
import { bitrateOf, type Quality } from './quality.ts'
import { openSource, type SourceKind, type SourceOptions } from './sources.ts'
import type { Source } from './testPattern.ts'

/** `off`: the video is only in this page. */
export type AirState = 'off' | 'connecting' | 'live' | 'reconnecting'

/** The broadcast of this browser. It goes on while the user visits other pages of the dashboard. */
export interface Air {
  readonly state: AirState
  readonly streamName: string
  /** `accountId/streamName`, once the server has said so. */
  readonly streamId: string
  /** Epoch milliseconds of the begin; null: not yet. */
  readonly sinceMs: number | null
  /** Why it ended, if it was not the user. */
  readonly problem: SluiceError | null
}

/** Why a source shows nothing: the user did not allow it, there is none, or it has ended while on the air. */
export type SourceProblem = 'denied' | 'notShared' | 'missing' | 'busy' | 'insecure' | 'ended' | 'failed'

interface Preview {
  readonly kind: SourceKind | null
  readonly source: Source | null
  readonly problem: SourceProblem | null
}

/** One reading of the connection, each two seconds. */
export interface Reading extends MediaStats {
  readonly atMs: number
}

const OFF: Air = { state: 'off', streamName: '', streamId: '', sinceMs: null, problem: null }
const NO_PREVIEW: Preview = { kind: null, source: null, problem: null }

export const air = signal<Air>(OFF)
export const preview = signal<Preview>(NO_PREVIEW)
export const readings = signal<readonly Reading[]>([])
export const isMuted = signal(false)
export const isVideoOff = signal(false)

/** Half a minute of figures would miss a drop that the user has just noticed; more than a minute is in the past. */
const READINGS_MAX = 31
const READING_MS = 2000

let publisher: WhipPublisher | null = null
let timer: ReturnType<typeof setInterval> | undefined

let chooseLast: () => Promise<void> = () => Promise.resolve()

/** Opens the chosen source again, where the user has allowed it or connected it meanwhile. */
export const chooseAgain = (): Promise<void> => chooseLast()

/** Shows a source in the page. On the air, viewers get it instead of the one before. */
export async function choose(kind: SourceKind, options: SourceOptions): Promise<void> {
  const mine = (): Promise<void> => choose(kind, options)
  chooseLast = mine
  const before = preview.value.source
  preview.value = { kind, source: before, problem: null }
  // Cameras take their time: meanwhile the user may have chosen another one, or left the page.
  const isWanted = (): boolean => chooseLast === mine && preview.value.kind === kind
  try {
    const source = await openSource(kind, options)
    if (!isWanted()) return source.stop()
    await show(source, kind)
    before?.stop()
  } catch (error) {
    if (isWanted()) preview.value = { kind, source: before, problem: problemOf(error, kind) }
  }
}

async function show(source: Source, kind: SourceKind): Promise<void> {
  preview.value = { kind, source, problem: null }
  applySwitches(source)
  for (const track of source.media.getTracks()) await publisher?.replaceTrack(track)
  // The browser's own bar ends a shared screen, and a camera may be unplugged.
  for (const track of source.media.getTracks()) track.addEventListener('ended', () => lose(source, track))
}

function lose(source: Source, { kind }: MediaStreamTrack): void {
  if (preview.value.source !== source) return
  if (air.value.state === 'off' && kind === 'video') release()
  else preview.value = { ...preview.value, problem: 'ended' }
}

const PROBLEMS: Readonly<Record<string, SourceProblem>> = {
  NotAllowedError: 'denied',
  NotFoundError: 'missing',
  OverconstrainedError: 'missing',
  NotReadableError: 'busy',
  SecurityError: 'insecure',
}

function problemOf(error: unknown, kind: SourceKind): SourceProblem {
  const problem = (error instanceof DOMException ? PROBLEMS[error.name] : undefined) ?? 'failed'
  // Most often the user has closed the window in which one chooses what to share.
  return kind === 'screen' && problem === 'denied' ? 'notShared' : problem
}

/** A page shows the source. */
let isShown = false

/**
 * Keeps the source for a page until the returned function is called. Then camera, microphone and screen are let go, once they are
 * not on the air.
 */
export function showSource(): () => void {
  isShown = true
  return () => {
    isShown = false
    release()
  }
}

function release(): void {
  if (air.value.state !== 'off') return
  preview.value.source?.stop()
  preview.value = NO_PREVIEW
}

export interface Start {
  readonly streamName: string
  readonly token: string
  readonly quality: Quality
}

/** Goes on the air with what the page shows. The outcome is in `air`. */
export async function goLive({ streamName, token, quality }: Start): Promise<void> {
  const media = preview.value.source?.media
  if (!media || air.value.state !== 'off') return
  const mine = new WhipPublisher({
    url: new URL(`../api/whip/${encodeURIComponent(streamName)}`, document.baseURI).href,
    token,
    codec: quality.codec || undefined,
    maxBitrate: bitrateOf(quality) ?? undefined,
    simulcast: quality.simulcast,
    onState: (_, reason) => follow(mine, reason),
  })
  publisher = mine
  readings.value = []
  air.value = { ...OFF, state: 'connecting', streamName }
  // The states of the publisher say everything; this is the same news.
  await mine.start(media).catch(() => undefined)
}

function follow(mine: WhipPublisher, reason: SluiceError | null): void {
  if (publisher !== mine) return
  const { state, streamId } = mine
  if (state === 'ended') return finish(reason)
  if (state === 'live') begin(streamId)
  else if (state === 'reconnecting') air.value = { ...air.value, state: 'reconnecting' }
}

function begin(streamId: string): void {
  const { streamName, sinceMs } = air.value
  air.value = { state: 'live', streamName, streamId, sinceMs: sinceMs ?? Date.now(), problem: null }
  if (timer !== undefined) return
  onAir.value = streamName
  addEventListener('beforeunload', warn)
  // Rates cover the time since the last call: the first reading that is shown has some.
  void publisher?.stats()
  timer = setInterval(() => void read(), READING_MS)
}

function finish(problem: SluiceError | null): void {
  publisher = null
  clearInterval(timer)
  timer = undefined
  onAir.value = null
  removeEventListener('beforeunload', warn)
  air.value = { ...OFF, streamName: air.value.streamName, problem }
  if (!isShown) release()
}

/** The browser asks before it leaves: that would end the broadcast. */
const warn = (event: BeforeUnloadEvent): void => event.preventDefault()

async function read(): Promise<void> {
  const stats = await publisher?.stats()
  if (stats) readings.value = [...readings.value.slice(1 - READINGS_MAX), { ...stats, atMs: Date.now() }]
}

/** Ends the broadcast. The page keeps its video. */
export async function end(): Promise<void> {
  const ended = publisher
  finish(null)
  await ended?.stop()
}

export function setMuted(muted: boolean): void {
  isMuted.value = muted
  if (preview.value.source) applySwitches(preview.value.source)
}

export function setVideoOff(isOff: boolean): void {
  isVideoOff.value = isOff
  if (preview.value.source) applySwitches(preview.value.source)
}

/** A disabled track sends silence or black, so viewers stay connected. */
function applySwitches({ media }: Source): void {
  for (const track of media.getAudioTracks()) track.enabled = !isMuted.value
  for (const track of media.getVideoTracks()) track.enabled = !isVideoOff.value
}
