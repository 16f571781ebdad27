import { openSync } from 'node:fs'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { createFfmpeg } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { silentLog } from '../../support/log.ts'
import { offline } from '../../support/offline.ts'

/**
 * A process that starts ffmpeg as its child in the requested mode, prints the child's process group, and waits to be
 * killed. With `full` it has no descriptor left by then, and prints how the child ended.
 */
if (process.argv[2] === 'full') useUpDescriptors()
const ffmpeg = createFfmpeg({ log: silentLog, clock: systemClock, binary: 'ffmpeg', maxChildren: () => 1, offline })
const endless = ['-re', '-f', 'lavfi', '-i', 'testsrc2=size=64x64:rate=5', '-f', 'null', '-']
const fromUs = ['-f', 'h264', '-i', 'pipe:0', '-f', 'null', '-']
const child =
  process.argv[2] === 'stdin'
    ? ffmpeg.run({ name: 'fed', args: fromUs, stdin: true })
    : ffmpeg.run({ name: 'pulling', args: endless, onProgress: () => report() })
let reported = false

function report(): void {
  if (reported || !child.ok) return
  reported = true
  process.stdout.write(`${child.value.pid}\n`)
}

function useUpDescriptors(): void {
  try {
    for (;;) openSync('/dev/null', 'r')
  } catch {
    // That was the last one.
  }
}

if (child.ok && process.argv[2] === 'full') {
  void child.value.exited.then((exit) => process.stdout.write(JSON.stringify(exit)))
} else if (child.ok) {
  child.value.write(systemRandom.bytes(10))
  if (process.argv[2] === 'stdin') report()
}
setInterval(() => undefined, 1000)
