/** A progress report of an ffmpeg process, about one a second. */
export interface Progress {
  /** How much media was written, milliseconds. Absent: ffmpeg does not know it (yet). */
  readonly outTimeMs?: number
}

/** ffmpeg's lines are short `key=value` pairs, so a longer line is not one of them. */
const MAX_PENDING = 4096

/**
 * Reads the stream that `-progress` writes: `key=value` lines, each block ended by `progress=continue` or
 * `progress=end`. Returns the function that takes its text, in pieces of any size.
 */
export function progressReader(onProgress: (progress: Progress) => void): (text: string) => void {
  let pending = ''
  let progress: Progress = {}
  return (text) => {
    const lines = (pending + text).split('\n')
    pending = (lines.pop() ?? '').slice(-MAX_PENDING)
    for (const line of lines) {
      const [key, value = ''] = line.split('=', 2)
      if (key === 'out_time_us') progress = writtenFrom(value)
      if (key !== 'progress') continue
      onProgress(progress)
      progress = {}
    }
  }
}

/** Before its first frame ffmpeg writes no number, or one far below zero. */
function writtenFrom(microseconds: string): Progress {
  const outTimeMs = Number.parseFloat(microseconds) / 1000
  return outTimeMs >= 0 ? { outTimeMs } : {}
}
