import { offlineLauncher } from '../../src/base/offline.ts'

/** What starts ffmpeg without a network on this machine; empty where nothing does. */
export const offline = await offlineLauncher()
