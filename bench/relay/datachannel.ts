import { setTimeout as sleep } from 'node:timers/promises'
import { PeerConnection, type Track, Video } from 'node-datachannel'
import { type Ask, answerParent, isServing, startChild } from './child.ts'
import { type Contender, ownAddress } from './contender.ts'

/**
 * node-datachannel as a relay, in a process of its own: it passes every packet of the publisher to every viewer's
 * track.
 */
export const startDatachannel = (): Promise<Contender> =>
  startChild('node-datachannel', new URL(import.meta.url).pathname)

const SSRC = 0x1234
const PAYLOAD_TYPE = 96
const PORT = 34_200
const GATHER_MS = 5000

function serve(): void {
  const viewers: Track[] = []
  const referenced: unknown[] = []
  const options = {
    iceServers: [],
    bindAddress: ownAddress(),
    disableAutoNegotiation: true,
    enableIceUdpMux: true,
    portRangeBegin: PORT,
    portRangeEnd: PORT,
  }
  const forward = (packet: Buffer) => {
    for (const viewer of viewers) if (viewer.isOpen()) viewer.sendMessageBinary(packet)
  }
  const take = ({ kind, offer }: Ask): Promise<string> => {
    const peer = new PeerConnection(kind, options)
    const media = new Video('0', kind === 'publish' ? 'RecvOnly' : 'SendOnly')
    media.addVP8Codec(PAYLOAD_TYPE)
    if (kind === 'view') media.addSSRC(SSRC, 'relay', 'stream', 'track')
    const track = peer.addTrack(media)
    referenced.push(peer, track)
    if (kind === 'publish') track.onMessage(forward)
    else viewers.push(track)
    return answer(peer, offer)
  }
  answerParent(take, async () => undefined)
}

async function answer(peer: PeerConnection, offer: string): Promise<string> {
  const gathered = new Promise<void>((resolve) => {
    peer.onGatheringStateChange((state) => state === 'complete' && resolve())
  })
  peer.setRemoteDescription(offer, 'offer')
  peer.setLocalDescription('answer')
  await Promise.race([gathered, sleep(GATHER_MS)])
  return peer.localDescription()?.sdp ?? ''
}

if (isServing(import.meta.url)) serve()
