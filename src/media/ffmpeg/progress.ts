/** A progress report of an ffmpeg process, about one a second. Fields that ffmpeg does not know (yet) are absent. */
export interface Progress {
  /** Video frames written. */
  readonly frames?: number
  readonly fps?: number
  readonly bitrateKbps?: number
  /** Bytes written to the first output. */
  readonly bytes?: number
  /** How much media was written, milliseconds. */
  readonly outTimeMs?: number
  /** 1 is real time. */
  readonly speed?: number
  readonly droppedFrames?: number
}

/** ffmpeg's lines are short `key=value` pairs, so a longer line is not one of them. */
const MAX_PENDING = 4096

/**
 * Reads the stream that `-progress` writes: `key=value` lines, each block ended by `progress=continue` or
 * `progress=end`. Returns the function that takes its text, in pieces of any size.
 */
export function progressReader(onProgress: (progress: Progress) => void): (text: string) => void {
  let pending = ''
  let block: Record<string, string> = {}
  return (text) => {
    const lines = (pending + text).split('\n')
    pending = (lines.pop() ?? '').slice(-MAX_PENDING)
    for (const line of lines) {
      const at = line.indexOf('=')
      if (at < 0) continue
      const key = line.slice(0, at).trim()
      if (key === 'progress') {
        onProgress(progressOf(block))
        block = {}
      } else if (key in FIELDS) block[key] = line.slice(at + 1).trim()
    }
  }
}

/** ffmpeg's key, our name, and the factor from its unit to ours. ffmpeg's `out_time_ms` counts microseconds too. */
const FIELDS: Readonly<Record<string, readonly [name: keyof Progress, factor: number]>> = {
  frame: ['frames', 1],
  fps: ['fps', 1],
  bitrate: ['bitrateKbps', 1],
  total_size: ['bytes', 1],
  out_time_us: ['outTimeMs', 1 / 1000],
  speed: ['speed', 1],
  drop_frames: ['droppedFrames', 1],
}

function progressOf(block: Readonly<Record<string, string>>): Progress {
  const fields = Object.entries(block).flatMap(([key, text]) => {
    const field = FIELDS[key]
    const value = Number.parseFloat(text)
    return field === undefined || !Number.isFinite(value) || value < 0 ? [] : [[field[0], value * field[1]]]
  })
  return Object.fromEntries(fields) as Progress
}
