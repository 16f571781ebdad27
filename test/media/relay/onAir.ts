import { writeReceiverReport } from '../../../src/media/relay/wire/rtcp/rtcp.ts'
import { addressOf, WireNet, WirePeer } from '../../support/wirePeer.ts'

const FRAME_MS = 40
const REPORT_MS = 1000

export interface OnAirOptions {
  readonly net?: ConstructorParameters<typeof WireNet>[0]
  /** Packets of the first frame, a keyframe. */
  readonly firstFrame?: number
  /** The time between later keyframes; absent: there are none. */
  readonly keyEveryMs?: number
}

/** A publisher and its viewer, both connected. The functions send what is due, of the time that has passed. */
export async function onAir({ net: over = {}, firstFrame = 3, keyEveryMs = Infinity }: OnAirOptions = {}) {
  const net = new WireNet(over)
  const [publisher, viewer] = [new WirePeer(net, addressOf(1)), new WirePeer(net, addressOf(2))]
  publisher.publish(net.relay, 'publisher')
  await publisher.connect()
  publisher.sendFrame(firstFrame, true)
  viewer.view(net.relay, 'viewer')
  await viewer.connect()
  let reports = 0
  const publish = (passedMs: number, from = publisher): void => {
    if (passedMs % FRAME_MS === 0) from.sendFrame(3, passedMs % keyEveryMs === 0)
  }
  const report = (passedMs: number): void => {
    if (passedMs % REPORT_MS === 0) viewer.sendRtcp(writeReceiverReport(++reports))
  }
  return { net, publisher, viewer, publish, report }
}
