import type Hls from 'hls.js/light'
import type { Figures } from './playback.ts'

/** Reads what a video element and hls.js show; frames are of the time since the last call. */
export class HlsFigures {
  #frames = 0
  #atMs = 0

  /** `hls` null: the browser plays by itself, and says less. */
  read(video: HTMLVideoElement, hls: Hls | null): Figures {
    const level = hls?.levels[hls.currentLevel]
    const latency = hls?.latency ?? 0
    const { totalVideoFrames, droppedVideoFrames } = video.getVideoPlaybackQuality()
    const { buffered, currentTime } = video
    const end = buffered.length === 0 ? null : buffered.end(buffered.length - 1)
    return {
      bitrate: level?.bitrate ?? 0,
      width: video.videoWidth,
      height: video.videoHeight,
      framesPerSecond: this.#rate(totalVideoFrames),
      codecs: [level?.videoCodec, level?.audioCodec].filter(Boolean).join(', '),
      loss: null,
      roundTripMs: null,
      bufferSeconds: end === null ? null : Math.max(0, end - currentTime),
      dropped: droppedVideoFrames,
      behindSeconds: latency > 0 ? latency : null,
    }
  }

  #rate(frames: number): number | null {
    const nowMs = performance.now()
    const [count, seconds] = [frames - this.#frames, (nowMs - this.#atMs) / 1000]
    const isFirst = this.#atMs === 0
    this.#frames = frames
    this.#atMs = nowMs
    return isFirst || count < 0 || seconds <= 0 ? null : Math.round(count / seconds)
  }
}
