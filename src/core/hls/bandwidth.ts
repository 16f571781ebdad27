/** Room for what comes: an encoder's next segments may be larger than those so far. */
const HEADROOM = { peak: 1.25, average: 1 }
/** The same of the first seconds, which say little of a picture that has just begun. */
const EARLY_SECONDS = 10
const EARLY_HEADROOM = { peak: 1.5, average: 1.25 }

/** How far an encoder may be above its rate. */
const INEXACT = 1.02
/**
 * The boxes around video and audio, bits per second: 12 bytes for each of 60 frames and for each of 47 of audio, and the
 * heads of three parts. Fewer frames a second, or no audio, need less.
 */
const CONTAINER = 16_000
/** The buffer of OBS and of most encoders for live media: this much at their bitrate. */
const BUFFER_SECONDS = 1

/** Bits per second. */
export interface Bandwidth {
  readonly peak: number
  readonly average: number
}

interface Measured {
  readonly bytes: number
  readonly seconds: number
}

/** The peak is that of successive segments which last this share of the target duration together (RFC 8216 section 4.1). */
const LEAST_SHARE = 0.5
const MOST_SHARE = 1.5

/** Measures the bitrate of a rendition (RFC 8216 section 4.3.4.2). Its peak never falls. */
export class BandwidthMeter {
  /** The latest segments: together no longer than one and a half target durations, or only one. */
  #latest: readonly Measured[] = []
  #peak = 0
  /** Of what the peak is measured in. */
  #shortestSeconds = Number.POSITIVE_INFINITY
  #bytes = 0
  #seconds = 0

  /** A segment is complete. */
  add(bytes: number, seconds: number, targetSeconds: number): void {
    if (seconds <= 0) return
    this.#bytes += bytes
    this.#seconds += seconds
    const all = [...this.#latest, { bytes, seconds }]
    const together = all.map((_, at) => sumOf(all.slice(at)))
    const fits = together.map((sum, at) => at === all.length - 1 || sum.seconds <= targetSeconds * MOST_SHARE)
    const isLong = ({ seconds: length }: Measured): boolean => length >= targetSeconds * LEAST_SHARE
    const counted = together.filter((sum, at) => fits[at] && isLong(sum))
    this.#peak = Math.max(this.#peak, ...counted.map(rateOf))
    this.#shortestSeconds = Math.min(this.#shortestSeconds, ...counted.map(({ seconds: length }) => length))
    this.#latest = all.filter((_, at) => fits[at])
  }

  /** The highest bitrate so far, bits per second. */
  get measuredPeak(): number {
    return Math.ceil(this.#peak)
  }

  /**
   * Of an encoder that is not ours. Media that needs few bits does not show what its encoder may reach.
   * @param declared what it says that it keeps to, bits per second; 0: it does not say
   */
  bandwidth(declared: number): Bandwidth {
    const room = this.#seconds < EARLY_SECONDS ? EARLY_HEADROOM : HEADROOM
    const measured = this.#seconds === 0 ? 0 : (this.#bytes * 8) / this.#seconds
    const [peak, average] = [Math.max(this.#peak, measured) * room.peak, measured * room.average]
    const promised = declared === 0 ? { peak: 1, average: 1 } : this.#promisedBy(declared)
    return { peak: Math.ceil(Math.max(peak, promised.peak)), average: Math.ceil(Math.max(average, promised.average)) }
  }

  /** A segment has at most what comes in its time, and one full buffer. */
  #promisedBy(bitrate: number): Bandwidth {
    const peak = (bitrate + (bitrate * BUFFER_SECONDS) / this.#shortestSeconds) * INEXACT + CONTAINER
    return { peak, average: bitrate + CONTAINER }
  }
}

const sumOf = (segments: readonly Measured[]): Measured => ({
  bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
  seconds: segments.reduce((sum, { seconds }) => sum + seconds, 0),
})

const rateOf = ({ bytes, seconds }: Measured): number => (bytes * 8) / seconds

/** What our encoder keeps to, bits per second and bits. A small buffer keeps the largest segments near the bitrate. */
export const encoderRates = (bitrate: number): { maxrate: number; bufsize: number } => ({
  maxrate: Math.round(bitrate * 1.1),
  bufsize: Math.round(bitrate / 2),
})

/** Of audio at a constant bitrate. */
const AUDIO_PEAK = 1.1
/** The boxes of audio alone: a sample entry for each of 47 frames and a head for each of 4 parts, bits per second. */
const AUDIO_CONTAINER = 8000
/** ffmpeg's AAC of two channels at 48 kHz has at least this rate, whatever rate it is given. Measured: 24.4 kbit/s. */
const AUDIO_LEAST = 25_000

const audioRate = (audio: number): number => (audio === 0 ? 0 : Math.max(audio, AUDIO_LEAST))

/**
 * What a rendition of our encoder keeps to: the video of a segment has at most its maximal rate and one full buffer.
 * @param audio bits per second; 0: there is none
 */
export function encodedBandwidth(bitrate: number, audio: number, segmentSeconds: number): Bandwidth {
  const { maxrate, bufsize } = encoderRates(bitrate)
  const rate = audioRate(audio)
  const peak = (maxrate + bufsize / segmentSeconds + rate * AUDIO_PEAK) * INEXACT + CONTAINER
  return { peak: Math.ceil(peak), average: bitrate + rate + CONTAINER }
}

/** What a rendition with the audio of our encoder alone keeps to. @param audio bits per second */
export function audioBandwidth(audio: number): Bandwidth {
  const rate = Math.max(audio, AUDIO_LEAST)
  return { peak: Math.ceil(rate * AUDIO_PEAK * INEXACT + AUDIO_CONTAINER), average: rate + AUDIO_CONTAINER }
}
