import { afterAll, beforeAll, expect, test } from 'vitest'
import { freeUdpPort, lossyWay, type LossyWay } from '../support/lossyUdp.ts'
import type { Peer } from './peer.ts'
import { setStage, type Stage } from './sluice.ts'

const LOST = 0.03
const SEED = 20
const ENOUGH = 6

let stage: Stage
let way: LossyWay

beforeAll(async () => {
  const port = await freeUdpPort()
  way = await lossyWay(port, SEED)
  way.lose(LOST)
  const webrtc = { HOST: '127.0.0.1', PORT: String(port), PROCESSES: '1' }
  const settings = Object.entries(webrtc).map(([name, value]) => [`SLUICE_WEBRTC_${name}`, value])
  stage = await setStage(Object.fromEntries(settings) as Record<string, string>)
})
afterAll(async () => {
  await stage.close()
  way.close()
})

async function farPeer(): Promise<Peer> {
  const peer = await stage.peer()
  await peer.through(way.port)
  return peer
}

/** Until enough was lost and repaired on both ways for the rest to mean something. */
async function repaired(publisher: Peer, viewer: Peer): Promise<void> {
  const { frames } = await viewer.figures()
  const isEnough = async (): Promise<boolean> => {
    const [up, down, now] = await Promise.all([publisher.quality(), viewer.quality(), viewer.figures()])
    const repairs = Math.min(up.retransmittedPacketsSent, down.retransmittedPacketsReceived)
    return repairs >= ENOUGH && now.frames >= frames + 100
  }
  await expect.poll(isEnough, { timeout: 20_000, interval: 200 }).toBe(true)
}

test.each(['vp8', 'h264'])(
  '%s over a way that loses 3 in 100 each way: no freeze, repaired both ways',
  async (codec) => {
    const { token } = await stage.token('publish', { streams: [{ streamName: '.*', isRegex: true }] })
    const [publisher, viewer] = [await farPeer(), await farPeer()]
    expect(await publisher.publish({ url: stage.whip(codec), token, codec, scale: 0.5 })).toBe('ok')
    await expect.poll(() => viewer.watch({ url: stage.whep(codec) }), { timeout: 20_000, interval: 100 }).toBe('ok')
    await viewer.plays()
    await repaired(publisher, viewer)
    const [{ nackCount: askedByServer }, { nackCount, packetsLost, freezeCount }] = await Promise.all([
      publisher.quality(),
      viewer.quality(),
    ])
    expect(Math.min(askedByServer, nackCount, packetsLost)).toBeGreaterThan(0)
    // One is what a busy machine may add.
    expect(freezeCount).toBeLessThanOrEqual(1)
    await Promise.all([publisher.close(), viewer.close()])
  },
)
