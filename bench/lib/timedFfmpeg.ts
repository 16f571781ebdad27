import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { createFfmpeg, type Ffmpeg } from '../../src/media/ffmpeg/ffmpeg.ts'
import { silentLog } from '../../test/support/log.ts'

export interface TimedFfmpeg {
  /** A program that runs ffmpeg and notes its CPU time. */
  readonly binary: string
  readonly ffmpeg: Ffmpeg
  /** User and system time of the latest process that has ended, seconds. */
  seconds(): number
}

/** An ffmpeg whose CPU time is known. @param folder for its files */
export function timedFfmpeg(folder: string): TimedFfmpeg {
  const [times, binary] = [join(folder, 'times'), join(folder, 'ffmpeg')]
  writeFileSync(binary, `#!/bin/sh\nffmpeg "$@"; status=$?; times > ${times}; exit $status\n`, { mode: 0o755 })
  return {
    binary,
    ffmpeg: createFfmpeg({ log: silentLog, clock: systemClock, binary, maxChildren: () => 1, offline: [] }),
    seconds() {
      // The second line of `times` is of the shell's children.
      const [, children = ''] = readFileSync(times, 'utf8').split('\n')
      return Array.from(children.matchAll(/(\d+)m([\d.]+)s/g)).reduce(
        (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
        0,
      )
    },
  }
}
