import { offlineLauncher } from '../base/offline.ts'
import type { Logger } from '../base/log.ts'
import type { Config } from '../config/schema.ts'

/** One for each `ffmpeg.path`. */
const tried = new Map<string, Promise<readonly string[]>>()

/** The words that start ffmpeg without a network. This process tries it once, and logs what came of it. Never rejects. */
export function offlineFfmpeg({ ffmpeg: { path } }: Config, log: Logger): Promise<readonly string[]> {
  const known = tried.get(path)
  if (known) return known
  const launcher = offlineLauncher(path)
  tried.set(path, launcher)
  void launcher.then((words) => {
    if (words.length > 0) log.debug({ with: words.join(' ') }, 'ffmpeg gets no network, except for sources to dial')
    else log.info({}, 'ffmpeg keeps the network of this host: unshare cannot take it away here')
  })
  return launcher
}
