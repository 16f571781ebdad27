import { offlineLauncher } from '../base/offline.ts'
import type { Logger } from '../base/log.ts'

let tried: Promise<readonly string[]> | undefined

/** The words that start ffmpeg without a network. This process tries it once, and logs what came of it. Never rejects. */
export function offlineFfmpeg(log: Logger): Promise<readonly string[]> {
  tried ??= offlineLauncher().then((words) => {
    if (words.length > 0) log.debug({ with: words.join(' ') }, 'ffmpeg gets no network, except for sources to dial')
    else log.info({}, 'ffmpeg keeps the network of this host: unshare cannot take it away here')
    return words
  })
  return tried
}
