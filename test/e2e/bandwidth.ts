import { expect } from 'vitest'
import type { LossyLink } from '../support/lossyUdp.ts'
import type { Peer } from './peer.ts'

/** The width of the layer `q`: a quarter of 960 pixels. */
const SMALLEST = 240
/** Bits per second: enough for the smallest layer and audio, and for no other layer. */
const NARROW = 220_000

/** A picture of 960 pixels with the simulcast layers of a browser, as `sendEncodings` takes them. */
export const IN_LAYERS = {
  codec: 'vp8',
  scale: 0.75,
  encodings: [
    { rid: 'q', scaleResolutionDownBy: 4, maxBitrate: 100_000 },
    { rid: 'h', scaleResolutionDownBy: 2, maxBitrate: 300_000 },
    { rid: 'f', maxBitrate: 900_000 },
  ],
}

/** On a busy machine the browser disables its largest layer; two are enough. */
export async function sendsLayers(publisher: Peer): Promise<void> {
  await expect.poll(async () => (await publisher.arriving()).length).toBeGreaterThanOrEqual(2)
}

/** The viewer gets the smallest layer while the link is narrow, and a larger one before and after. */
export async function followsBandwidth(viewer: Peer, link: LossyLink): Promise<void> {
  const width = async (): Promise<number> => (await viewer.figures()).width
  await expect.poll(width).toBeGreaterThan(SMALLEST)
  link.limit(NARROW)
  await expect.poll(width).toBe(SMALLEST)
  link.limit(null)
  await expect.poll(width, { timeout: 90_000, interval: 100 }).toBeGreaterThan(SMALLEST)
  await viewer.plays()
}
