/** Room for what comes: an encoder's next segments may be larger than those so far. */
const HEADROOM = 1.25

/** Bits per second. */
export interface Bandwidth {
  readonly peak: number
  readonly average: number
}

/** Measures the bitrate of a rendition whose encoder is not ours (RFC 8216 section 4.3.4.2). The peak never falls. */
export class BandwidthMeter {
  #peak = 0
  #bytes = 0
  #seconds = 0

  /** A segment is complete. */
  add(bytes: number, seconds: number): void {
    if (seconds <= 0) return
    this.#peak = Math.max(this.#peak, (bytes * 8) / seconds)
    this.#bytes += bytes
    this.#seconds += seconds
  }

  get bandwidth(): Bandwidth {
    const average = this.#seconds === 0 ? 0 : (this.#bytes * 8) / this.#seconds
    return { peak: Math.max(1, Math.ceil(this.#peak * HEADROOM)), average: Math.max(1, Math.ceil(average)) }
  }
}

/** What our encoder keeps to, bits per second and bits. A small buffer keeps the largest segments near the bitrate. */
export const encoderRates = (bitrate: number): { maxrate: number; bufsize: number } => ({
  maxrate: Math.round(bitrate * 1.1),
  bufsize: Math.round(bitrate / 2),
})

/** Of audio at a constant bitrate. */
const AUDIO_PEAK = 1.1
/** The boxes around the media. */
const CONTAINER = 1.02

/**
 * What a rendition of our encoder keeps to: the video of a segment has at most its maximal rate and one full buffer.
 * @param audio bits per second; 0: there is none
 */
export function encodedBandwidth(bitrate: number, audio: number, segmentSeconds: number): Bandwidth {
  const { maxrate, bufsize } = encoderRates(bitrate)
  const peak = (maxrate + bufsize / segmentSeconds + audio * AUDIO_PEAK) * CONTAINER
  return { peak: Math.ceil(peak), average: bitrate + audio }
}

/** The boxes of audio alone: a sample entry for each of 47 frames and a head for each of 4 parts, bits per second. */
const AUDIO_CONTAINER = 8000
/** ffmpeg's AAC of two channels at 48 kHz has at least this rate, whatever rate it is given. Measured: 24.4 kbit/s. */
const AUDIO_LEAST = 25_000

/** What a rendition with the audio of our encoder alone keeps to. @param audio bits per second */
export function audioBandwidth(audio: number): Bandwidth {
  const rate = Math.max(audio, AUDIO_LEAST)
  return { peak: Math.ceil(rate * AUDIO_PEAK * CONTAINER + AUDIO_CONTAINER), average: rate + AUDIO_CONTAINER }
}
