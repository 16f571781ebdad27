/**
 * What viewers see at packet loss. A browser publishes to another page through a proxy that drops the same share of
 * packets in each direction, on both links: publisher to server and server to viewer. Counts freezes as the browser
 * defines them: a frame that is late by 150 ms and by twice the usual interval.
 *   SECONDS=60 node bench/loss.ts
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openBrowser } from '../test/e2e/browser.ts'
import { servePages } from '../test/e2e/pages.ts'
import { Peer } from '../test/e2e/peer.ts'
import { lossyLink } from '../test/support/lossyUdp.ts'
import { ownPort } from '../test/support/ownPort.ts'
import { report } from './lib/report.ts'
import { startServer } from './lib/server.ts'

const SECONDS = Number(process.env['SECONDS'] ?? 20)
/** Time for the browser's bandwidth estimate to rise. */
const WARM_MS = 4000
const PATIENCE_MS = 20_000
const CODECS = ['vp8', 'h264']
/** Share of lost packets. The first gives the freezes of the machine itself; the second must not freeze more. */
const LOSSES = [0, 0.03, 0.08] as const

const port = await ownPort()
const settings = { SLUICE_WEBRTC_HOST: '127.0.0.1', SLUICE_WEBRTC_PORT: String(port), SLUICE_WEBRTC_PROCESSES: '1' }
const [link, server, browser, pages] = await Promise.all([
  lossyLink(port, 20),
  startServer(settings),
  openBrowser(),
  servePages(),
])
const streams = [{ streamName: '.*', isRegex: true }]
const { token } = await server.api('POST', '/api/publish_token', { label: 'bench', streams })

async function farPeer(): Promise<Peer> {
  const peer = await Peer.open(browser, pages.origin('page.test'))
  await peer.through(link.port)
  return peer
}

async function watch(viewer: Peer, url: string): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  while ((await viewer.watch({ url })) !== 'ok') {
    if (performance.now() > until) throw new Error('nothing to watch')
    await sleep(100)
  }
}

async function measure(codec: string, share: number) {
  const [publisher, viewer] = [await farPeer(), await farPeer()]
  const name = `${codec}-${share * 100}`
  const answer = await publisher.publish({ url: server.whip(name), token, codec, scale: 0.5 })
  if (answer !== 'ok') throw new Error(answer)
  await watch(viewer, server.whep(name))
  link.lose(share)
  await sleep(WARM_MS)
  const [before, shownBefore] = [await viewer.quality(), await viewer.figures()]
  await sleep(SECONDS * 1000)
  const [after, shown] = [await viewer.quality(), await viewer.figures()]
  link.lose(0)
  await Promise.all([publisher.stop(), viewer.stop()])
  await Promise.all([publisher.close(), viewer.close()])
  return {
    freezes: after.freezeCount - before.freezeCount,
    frozenMs: (after.totalFreezesDuration - before.totalFreezesDuration) * 1000,
    frames: shown.frames - shownBefore.frames,
    repairs: after.retransmittedPacketsReceived - before.retransmittedPacketsReceived,
    keyframes: shown.keyFrames - shownBefore.keyFrames,
  }
}

for (const codec of CODECS) {
  let byMachine = 0
  for (const share of LOSSES) {
    const { freezes, frozenMs, frames, repairs, keyframes } = await measure(codec, share)
    if (share === 0) byMachine = freezes
    report({
      what: `Freezes in ${SECONDS} s of ${codec.toUpperCase()}, ${share * 100}% lost in each direction`,
      ratio: freezes,
      target: share === 0.03 ? 'no more than without loss' : 'none',
      met: share !== 0.03 || freezes <= byMachine,
      detail: `${frozenMs.toFixed(0)} ms frozen, ${frames} frames, ${keyframes} keyframes, ${repairs} packets retransmitted`,
    })
  }
}
await browser.close()
await pages.close()
link.close()
await server.stop()
process.exit()
