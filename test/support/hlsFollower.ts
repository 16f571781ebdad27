import { type Clock, systemClock } from '../../src/base/clock.ts'
import { repeat } from '../../src/base/repeat.ts'
import type { RunningApp } from './app.ts'
import { silentLog } from './log.ts'

/** The address of the first media playlist of a stream. */
export async function mediaPlaylist({ base, accountId }: RunningApp, stream: string): Promise<string> {
  const master = `${base}/hls/${accountId}/${stream}/index.m3u8`
  const [uri = ''] = /^[^#\s]+$/m.exec(await (await fetch(master)).text()) ?? []
  return new URL(uri, master).href
}

/** More often, and the ticket would seem to be in use by several players. */
const PACE_MS = 1000

/** What a player gets that asks for its playlist again and again. @param clock that of the nodes */
export function follow(url: string, clock: Clock = systemClock) {
  const seen: { status: number; node: string; stream: string; isOver: boolean }[] = []
  const asking = repeat({ clock, log: silentLog, name: 'play', everyMs: PACE_MS }, async () => {
    const answer = await fetch(url).catch(() => null)
    const { status, url: at } = answer ?? { status: 0, url }
    const isOver = (await answer?.text())?.includes('#EXT-X-ENDLIST') === true
    seen.push({ status, node: new URL(at).origin, stream: at.split('/')[5] ?? '', isOver })
  })
  return { seen, end: () => asking.stop() }
}
