import {
  type CutRules,
  Cutter,
  type Lead,
  longestSegmentOf,
  partTargetOf,
  targetDurationOf,
} from '../../core/hls/cutter.ts'
import type { Sample } from '../../core/hls/facts.ts'
import type { AudioOnly } from './audioOnly.ts'
import { videoRangeOf } from './videoRange.ts'
import { codecsOf, declaredBitrateOf, initOf, type Mp4Track, partOf } from './fmp4.ts'
import type { HlsRendition, SegmentTotals, Targets } from './rendition.ts'

export interface CutOptions {
  /** A segment ends at the first keyframe after this, seconds. */
  readonly segmentSeconds: number
  /** Whether segments have parts (low-latency HLS). */
  readonly parts: boolean
  /** The encoder is ours: it makes a keyframe for each segment, and nowhere else. */
  readonly keyPerSegment?: boolean
  /** Segments end only where `cut` says. */
  readonly led?: boolean
  /** Beside video, audio is in renditions of its own alone. */
  readonly separatesAudio?: boolean
  /** A segment begins: its first part is there. */
  readonly opened?: (segment: { readonly n: number; readonly startMs: number }) => void
  /** No segment is longer, seconds. Default: the first segment shows it. */
  readonly maxSeconds?: number
  /** A segment is complete. */
  readonly segment?: (made: SegmentTotals) => void
}

const NOTHING: SegmentTotals = { frames: 0, bytes: 0, seconds: 0 }

/** The date of a media time, both in milliseconds. Called once for each segment. */
export type DateOf = (mediaMs: number) => number

/** A rendition of an audio track, with the segments and parts of the lead. */
export interface AudioFollower {
  readonly rendition: AudioOnly
  /** The index of the track (`Frame.audioIndex`); 0: the first audio. */
  readonly audioIndex: number
}

/** Frames of a source that are further apart are pauses; the first segment of one with a picture every few seconds has one frame. */
const FIRST_MAX_SECONDS = 10

/** A shorter segment shows a frame rate only roughly. */
const COUNTABLE_SECONDS = 1

/** The most samples of another track that wait for the lead: 20 seconds of audio. */
const WAITING_MAX = 1024

/**
 * Cuts samples into parts and segments. The lead track, video where there is one, decides where; the other track goes
 * along. The first segment shows how long segments and frames are, and with it the targets are chosen for good.
 */
export class HlsPackager {
  /** Each gets the audio of each part, too. */
  followers: readonly AudioFollower[] = []
  readonly #rendition: HlsRendition
  readonly #options: CutOptions
  readonly #changed: () => void
  #tracks: readonly Mp4Track[] = []
  #lead: Mp4Track | undefined
  #dateOf: DateOf = (mediaMs) => mediaMs
  #cutter: Cutter
  #waiting: Sample[] = []
  /** Samples of the other tracks by the ids of those. */
  readonly #others = new Map<number, Sample[]>()
  #sequence = 0
  #segmentBegins = true
  /** The next part is the first of its run. */
  #runBegins = true
  #isCounted = false
  #givenUpSeconds = 0
  #made = NOTHING

  /** @param changed called when a playlist has something new */
  constructor(rendition: HlsRendition, options: CutOptions, changed: () => void) {
    this.#rendition = rendition
    this.#options = options
    this.#changed = changed
    this.#cutter = this.#newCutter()
  }

  /** How long a segment may be, seconds. */
  get longestSeconds(): number {
    const { targets } = this.#rendition
    return targets === null ? FIRST_MAX_SECONDS : longestSegmentOf(targets.targetSeconds)
  }

  /** A run begins: the first, or another one after a discontinuity. */
  begin(tracks: readonly Mp4Track[], dateOf: DateOf): void {
    this.discontinue()
    this.#tracks = tracks
    this.#lead = tracks.find(({ info }) => info.kind === 'video') ?? tracks[0]
    this.#dateOf = dateOf
    this.#cutter = this.#newCutter()
    this.#runBegins = true
    for (const { id } of tracks) if (id !== this.#lead?.id) this.#others.set(id, [])
    const written = tracks.filter((track) => this.#writes(track))
    const infos = written.map(({ info }) => info)
    const video = infos.find((info) => info.kind === 'video')
    const size = video && video.width > 0 ? { width: video.width, height: video.height } : null
    const range = videoRangeOf(infos)
    this.#rendition.begin(initOf(written), {
      codecs: codecsOf(infos),
      size,
      range,
      declaredBitrate: declaredBitrateOf(infos),
    })
    if (video === undefined) this.#rendition.counted(null)
    this.#isCounted = video === undefined
    for (const { rendition, audioIndex } of this.followers) rendition.begin(this.#audioTrack(audioIndex))
  }

  /** Takes the next sample of a track, with its duration. */
  add(id: number, sample: Sample): void {
    if (this.#lead === undefined) return
    if (id !== this.#lead.id) return this.#addOther(id, sample)
    const seconds = sample.duration / this.#lead.timescale
    this.before(sample, seconds)
    this.#cutter.add(seconds, sample.key)
    this.#waiting.push(sample)
  }

  /**
   * Takes a keyframe of the lead that is shown again, for `repeatSeconds` at most.
   *
   * @param mayEndSegment false: it belongs to the present segment, however long that is
   */
  repeat(sample: Sample, mayEndSegment: boolean): void {
    if (this.#lead === undefined) return
    const seconds = sample.duration / this.#lead.timescale
    if (mayEndSegment && this.#cutter.endsSegmentBeforeRepeat()) this.#endSegment()
    else if (this.#cutter.endsPartBeforeRepeat(seconds)) this.#endPart()
    this.#cutter.add(seconds, true)
    this.#waiting.push(sample)
  }

  /** How long a keyframe may be shown again. Null: the first segment is not complete, which must show how long frames are. */
  get repeatSeconds(): number | null {
    return this.#rendition.targets === null ? null : this.#cutter.repeatSeconds
  }

  /** The same for one that may not end the present segment. */
  get repeatInSegmentSeconds(): number {
    return this.#cutter.repeatInSegmentSeconds
  }

  /** Says what the next sample of the lead is, so that a part that is complete need not wait for that sample's end. */
  before({ key, beginsSegment }: Pick<Sample, 'key' | 'beginsSegment'>, seconds = 0): void {
    if (!this.#options.led && this.#cutter.endsSegment(key, seconds, beginsSegment)) this.#endSegment()
    else if (this.#rendition.targets !== null && this.#cutter.endsPart(key, seconds)) this.#endPart()
  }

  /** The segment is complete, and the next sample of the lead begins another. */
  cut(): void {
    this.#endSegment()
  }

  /** What follows does not continue what came before. */
  discontinue(): void {
    if (this.#rendition.targets !== null || this.#isChangeable()) this.#endSegment(true)
    this.#waiting = []
    this.#others.clear()
    this.#cutter.segmentEnded()
    this.#rendition.discontinue()
    for (const { rendition } of this.followers) rendition.discontinue()
  }

  /** The stream is over. */
  end(): void {
    this.#endSegment(true)
    this.#rendition.end()
    this.#changed()
  }

  /** Whether a track is in this rendition: the lead is, and one more audio at most. */
  #writes({ id, info }: Mp4Track): boolean {
    if (id === this.#lead?.id) return true
    return info.kind === 'audio' && info.audioIndex === undefined && this.#options.separatesAudio !== true
  }

  #audioTrack(audioIndex: number): Mp4Track | undefined {
    return this.#tracks.find(({ info }) => info.kind === 'audio' && (info.audioIndex ?? 0) === audioIndex)
  }

  #addOther(id: number, sample: Sample): void {
    const waiting = this.#others.get(id)
    if (waiting?.length === WAITING_MAX) waiting.shift()
    waiting?.push(sample)
  }

  #endSegment(runEnds = false): void {
    if (this.#rendition.targets === null) this.#open()
    if (this.#waiting.length > 0) this.#endPart(runEnds)
    this.#count(this.#made)
    this.#rendition.close()
    for (const { rendition } of this.followers) rendition.close()
    this.#cutter.segmentEnded()
    this.#segmentBegins = true
    if (this.#made.frames > 0) this.#options.segment?.(this.#made)
    this.#made = NOTHING
    this.#changed()
  }

  /** Counts the frame rate of a run once, in a segment that is long enough for that. */
  #count({ frames, seconds }: SegmentTotals): void {
    if (this.#isCounted || frames === 0) return
    this.#isCounted = seconds >= COUNTABLE_SECONDS
    if (this.#isCounted || this.#rendition.variant().frameRate === null) this.#rendition.counted(frames / seconds)
  }

  /**
   * Before the targets are chosen, a discontinuity gives up what came before it. A source that goes on so, such as one with
   * another configuration in each keyframe, has no longer segments.
   */
  #isChangeable(): boolean {
    const waiting = this.#waiting.reduce((sum, { duration }) => sum + duration, 0)
    this.#givenUpSeconds += waiting / (this.#lead?.timescale ?? 1)
    return waiting > 0 && this.#givenUpSeconds > 2 * this.#options.segmentSeconds
  }

  /** Chooses the targets by the first segment, and cuts its parts. */
  #open(): void {
    const [first, ...rest] = this.#waiting
    if (first === undefined || this.#lead === undefined) return
    this.#rendition.choose(this.#targetsOf([first, ...rest], this.#lead))
    const samples = this.#waiting
    this.#waiting = []
    this.#cutter = this.#newCutter()
    for (const sample of samples) {
      const seconds = sample.duration / this.#lead.timescale
      if (this.#cutter.endsPart(sample.key, seconds)) this.#endPart()
      this.#cutter.add(seconds, sample.key)
      this.#waiting.push(sample)
    }
  }

  #targetsOf(samples: readonly Sample[], { timescale }: Mp4Track): Targets {
    const { segmentSeconds, parts, maxSeconds = 0 } = this.#options
    const seconds = samples.map(({ duration }) => duration / timescale)
    const length = seconds.reduce((sum, each) => sum + each, 0)
    return {
      targetSeconds: Math.max(maxSeconds, targetDurationOf(segmentSeconds, length)),
      partSeconds: parts ? partTargetOf(seconds) : null,
    }
  }

  #newCutter(): Cutter {
    const { segmentSeconds, maxSeconds, keyPerSegment: atEveryKey = false } = this.#options
    const lead: Lead = this.#lead?.info.kind ?? 'video'
    const targets = this.#rendition.targets
    const rules: Omit<CutRules, 'segmentSeconds'> =
      targets === null
        ? {
            maxSeconds: maxSeconds === undefined ? 2 * segmentSeconds : longestSegmentOf(maxSeconds),
            partSeconds: null,
          }
        : { maxSeconds: longestSegmentOf(targets.targetSeconds), partSeconds: targets.partSeconds }
    return new Cutter({ ...rules, segmentSeconds, atEveryKey: atEveryKey && lead === 'video' }, lead)
  }

  #endPart(runEnds = false): void {
    const [first] = this.#waiting
    const last = this.#waiting.at(-1)
    if (first === undefined || last === undefined || this.#lead === undefined) return
    const { id, timescale } = this.#lead
    const end = last.dts + last.duration
    const span = { from: this.#runBegins ? first.dts : null, until: runEnds ? end : null }
    this.#runBegins = false
    const tracks = this.#tracks.map((track) => {
      if (track.id === id) return { ...track, samples: this.#waiting }
      const ticks = track.timescale / timescale
      return { ...track, samples: filling(this.#takeOthers(track.id, end * ticks), span, ticks) }
    })
    const written = tracks.filter((track) => this.#writes(track))
    const bytes = partOf(++this.#sequence, written)
    const begins = this.#segmentBegins
    const startMs = begins ? this.#dateOf((first.dts / timescale) * 1000) : 0
    this.#segmentBegins = false
    const duration = (end - first.dts) / timescale
    const segment = this.#rendition.add({ bytes, duration, independent: first.key }, startMs)
    if (begins) this.#options.opened?.(segment)
    const at = { duration, startMs, startSeconds: first.dts / timescale }
    for (const { rendition, audioIndex } of this.followers) {
      const own = this.#audioTrack(audioIndex)?.id
      const audio = tracks.find((track) => track.id === own)?.samples ?? []
      rendition.add({ ...at, audio }, this.#rendition.targets)
    }
    this.#made = {
      frames: this.#made.frames + this.#waiting.length,
      bytes: this.#made.bytes + bytes.length,
      seconds: this.#made.seconds + duration,
    }
    this.#waiting = []
    this.#cutter.partEnded()
    this.#changed()
  }

  #takeOthers(id: number, beforeTicks: number): Sample[] {
    const waiting = this.#others.get(id) ?? []
    const found = waiting.findIndex(({ dts }) => dts >= beforeTicks)
    return continuous(waiting.splice(0, found === -1 ? waiting.length : found))
  }
}

/** Where a run begins and where it ends, in ticks of the lead; null: this is not its first part, or not its last. */
interface RunSpan {
  readonly from: number | null
  readonly until: number | null
}

/** What may be missing at a seam: a part of a frame, since audio has whole ones, and those that an encoder kept when it was ended. */
const MISSING_FRAMES = 4

/**
 * The audio of a part, which fills its run from the beginning to the end: for a player that keeps both in one buffer, what is missing
 * at a seam is a hole, at which it stalls.
 */
function filling(samples: readonly Sample[], { from, until }: RunSpan, ticks: number): readonly Sample[] {
  const [head, ...rest] = samples
  if (head === undefined) return samples
  const lateBy = from === null ? 0 : head.dts - Math.round(from * ticks)
  const first = lateBy > 0 && lateBy <= MISSING_FRAMES * head.duration ? earlier(head, lateBy) : head
  const last = rest.at(-1) ?? first
  const lacks = until === null ? 0 : Math.round(until * ticks) - (last.dts + last.duration)
  if (lacks <= 0 || lacks > MISSING_FRAMES * last.duration) return [first, ...rest]
  const longer = { ...last, duration: last.duration + lacks }
  return rest.length === 0 ? [longer] : [first, ...rest.slice(0, -1), longer]
}

const earlier = (sample: Sample, by: number): Sample => {
  const dts = sample.dts - by
  return { ...sample, dts, pts: dts, duration: sample.duration + by }
}

/** A sample lasts until the next one of its fragment begins: a fragment says only durations. */
const continuous = (samples: readonly Sample[]): Sample[] =>
  samples.map((sample, index) => {
    const next = samples[index + 1]
    return next === undefined || next.dts === sample.dts + sample.duration
      ? sample
      : { ...sample, duration: next.dts - sample.dts }
  })
