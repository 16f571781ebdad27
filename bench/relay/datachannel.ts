import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import ndc, { type PeerConnection, type Track } from 'node-datachannel'
import { type Contender, family, ownAddress } from './contender.ts'

/** node-datachannel as a relay, in a process of its own: every packet of the publisher is handed to every viewer's track. */

const SSRC = 0x1234
const PAYLOAD_TYPE = 96

export async function startDatachannel(): Promise<Contender> {
  const child = fork(new URL(import.meta.url).pathname, ['serve'])
  await once(child, 'message')
  const ask = async (kind: string, offer: string): Promise<string> => {
    child.send({ kind, offer })
    return ((await once(child, 'message')) as [string])[0]
  }
  return {
    name: 'node-datachannel',
    publish: (offer) => ask('publish', offer),
    view: async (viewer) => viewer.accept(await ask('view', await viewer.offer())),
    pids: () => family(child.pid ?? 0),
    stop: async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

function serve(): void {
  const viewers: Track[] = []
  const kept: unknown[] = []
  const options = {
    iceServers: [],
    bindAddress: ownAddress(),
    disableAutoNegotiation: true,
    enableIceUdpMux: true,
    portRangeBegin: 34_200,
    portRangeEnd: 34_200,
  }
  const answer = async (peer: PeerConnection, offer: string): Promise<string> => {
    const gathered = new Promise<void>((resolve) =>
      peer.onGatheringStateChange((state) => state === 'complete' && resolve()),
    )
    peer.setRemoteDescription(offer, 'offer')
    peer.setLocalDescription('answer')
    await Promise.race([gathered, sleep(5000)])
    return peer.localDescription()?.sdp ?? ''
  }
  const take = (kind: 'publish' | 'view', offer: string): Promise<string> => {
    const peer = new ndc.PeerConnection(kind, options)
    const media = new ndc.Video('0', kind === 'publish' ? 'RecvOnly' : 'SendOnly')
    media.addVP8Codec(PAYLOAD_TYPE)
    if (kind === 'view') media.addSSRC(SSRC, 'relay', 'stream', 'track')
    const track = peer.addTrack(media)
    kept.push(peer, track)
    if (kind === 'publish')
      track.onMessage((packet) => viewers.forEach((viewer) => viewer.isOpen() && viewer.sendMessageBinary(packet)))
    else viewers.push(track)
    return answer(peer, offer)
  }
  process.on('message', ({ kind, offer }: { kind: 'publish' | 'view'; offer: string }) => {
    void take(kind, offer).then((sdp) => process.send?.(sdp))
  })
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}

if (process.argv[2] === 'serve' && process.argv[1] === new URL(import.meta.url).pathname) serve()
