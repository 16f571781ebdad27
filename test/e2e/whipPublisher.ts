import { fork } from 'node:child_process'
import { once } from 'node:events'

export interface WhipRequest {
  readonly url: string
  readonly token: string
  /** The UDP port of this machine that gets its media instead of the server's. */
  readonly through: number
  /** Frames from one keyframe to the next; of the 30 in a second. Default 60. */
  readonly gop?: number
}

/**
 * A publisher that broadcasts over WHIP as OBS does. It runs on libdatachannel and sends H.264 of profile high, which
 * its offer calls constrained baseline. It sends keyframes by the clock and ignores requests for one. It
 * retransmits on the same SSRC (no RTX) and has no congestion control. ffmpeg makes video and tone. Resolves when it is
 * on the air.
 */
export async function whipPublisher(request: WhipRequest): Promise<{ stop(): Promise<void> }> {
  const child = fork(new URL('./whipPublisherProcess.ts', import.meta.url), [], { execArgv: [] })
  const ended = once(child, 'exit')
  child.send(request)
  const failed = ended.then(() => Promise.reject(new Error('the publisher ended; its output is above')))
  await Promise.race([once(child, 'message'), failed])
  failed.catch(() => undefined)
  return {
    async stop() {
      child.disconnect()
      await ended
    },
  }
}
