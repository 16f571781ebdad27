import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** Milliseconds since 1970, which all processes of a machine share. */
export const nowMs = (): number => performance.timeOrigin + performance.now()

export interface Answer {
  readonly status: number
  readonly body: Buffer
  /** When the last byte arrived. */
  readonly atMs: number
}

export interface PlayerOptions {
  readonly port: number
  /** A loopback address of its own. */
  readonly address: string
  /** The address of the master playlist. */
  readonly master: string
  readonly stop: AbortSignal
  /** Called before each request for a playlist that it waits for, and for a part. */
  readonly onRequest?: (kind: 'playlist' | 'part', name: string) => void
  /** Called for each answer. `kind` is `start` until the player has its first playlist. */
  readonly onAnswer: (kind: 'start' | 'playlist' | 'part', name: string, answer: Answer) => void
}

/**
 * A low-latency player without a decoder: it reloads its playlist with `_HLS_msn` and `_HLS_part`, and requests the hinted
 * part, both before they exist. Ends at the first answer that is not 200, or at `stop`.
 */
export async function play(options: PlayerOptions): Promise<void> {
  const { port, address, master, stop, onRequest, onAnswer } = options
  const agent = new Agent({ keepAlive: true, maxSockets: 2, localAddress: address })
  const get = async (path: string): Promise<Answer> => {
    const asked = request({ host: '127.0.0.1', port, path, agent, signal: stop }).end()
    const [response] = await once(asked, 'response')
    const body = await buffer(response)
    return { status: response.statusCode, body, atMs: nowMs() }
  }
  try {
    const first = await get(master)
    onAnswer('start', 'master', first)
    const base = new URL(/^[^#\s]+$/m.exec(first.body.toString())?.[0] ?? '', `http://x${master}`).pathname
    let playlist = await get(base)
    onAnswer('start', 'media', playlist)
    while (playlist.status === 200 && !stop.aborted) {
      const { query, hint } = nextOf(playlist.body.toString())
      onRequest?.('playlist', query)
      onRequest?.('part', hint)
      const [reloaded, part] = await Promise.all([get(base + query), get(base.replace('media.m3u8', hint))])
      onAnswer('playlist', query, reloaded)
      onAnswer('part', hint, part)
      if (part.status !== 200) return
      playlist = reloaded
    }
  } catch (error) {
    if (!stop.aborted) throw error
  } finally {
    agent.destroy()
  }
}

/** What comes next: the reload that waits for it, and the part that is hinted. */
function nextOf(text: string): { query: string; hint: string } {
  const first = Number(/MEDIA-SEQUENCE:(\d+)/.exec(text)?.[1])
  const closed = text.match(/^s\d+\.m4s/gm)?.length ?? 0
  const open = text.slice(Math.max(0, text.lastIndexOf('\ns'))).match(/^#EXT-X-PART:/gm)?.length ?? 0
  const hint = /PRELOAD-HINT:TYPE=PART,URI="([^"]+)/.exec(text)?.[1] ?? ''
  return { query: `?_HLS_msn=${first + closed}&_HLS_part=${open}`, hint }
}
