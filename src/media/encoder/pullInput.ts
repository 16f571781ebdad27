import type { Dialled } from '../../core/channels/dialled.ts'
import { words } from '../ffmpeg/arguments.ts'
import { concatScript } from '../ffmpeg/concatScript.ts'

/** Only protocols of live sources, so that neither an address nor a playlist can open a file. */
const PROTOCOLS = 'rtmp,rtmps,srt,tcp,udp,tls,crypto'

const PROBE = { probesize: '1000000', analyzeduration: '1000000' }

/** Seconds. Timestamps within one RTMP or SRT stream do not jump this far; see `TIMES_JUMPED`. */
const JUMP_SECONDS = 10

/**
 * The script on standard input names the source, because every user of the machine can read arguments. Unlike a plain
 * input, this one does not correct timestamps that jump: ffmpeg logs it and guesses.
 */
export const PULL_INPUT: readonly string[] = [
  ...words(`-dts_error_threshold ${JUMP_SECONDS} -protocol_whitelist pipe,${PROTOCOLS}`),
  ...Object.entries(PROBE).flatMap(([name, value]) => [`-${name}`, value]),
  // `safe 0` allows addresses in the script, which Sluice writes. `auto_convert 0` leaves H.264 unchanged.
  ...words('-f concat -safe 0 -auto_convert 0 -i pipe:0'),
]

/** ffmpeg's message when the timestamps of a pulled source jumped. The next process begins with the new ones. */
export const TIMES_JUMPED = /invalid dropping/

/**
 * A script for ffmpeg's concat demuxer that names the source to pull. The source itself must not be a script or another
 * list: only the formats that RTMP and SRT carry are allowed.
 */
export function pullScript({ url, options }: Dialled): string {
  const timeout = url.startsWith('rtmp') ? { rw_timeout: '10000000' } : {}
  const all = {
    protocol_whitelist: PROTOCOLS,
    format_whitelist: 'flv,live_flv,mpegts',
    ...PROBE,
    ...timeout,
    ...options,
  }
  return concatScript(url, all)
}
