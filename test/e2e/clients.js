// WHIP and WHEP clients of other projects, as people put them into their pages. Bundled for a page of a test, as
// `clients`.
import { WebRTCPlayer } from '@eyevinn/webrtc-player'
import { WHIPClient as EyevinnWhip } from '@eyevinn/whip-web-client'
import { WHEPClient as MedoozeWhep } from 'whip-whep/whep.js'
import { WHIPClient as MedoozeWhip } from 'whip-whep/whip.js'

const video = () => document.querySelector('video')

/** Each starts a client, and returns what the page of a peer needs: the connection, and a function that ends it. */
export const eyevinn = {
  async publish({ url, token, media }) {
    const client = new EyevinnWhip({ endpoint: url, opts: { authkey: token } })
    await client.ingest(media)
    // Resolves once the server has answered.
    await client.getResourceUrl()
    return { pc: client.peer, stop: () => client.destroy() }
  },
  async watch({ url, token }) {
    const player = new WebRTCPlayer({ video: video(), type: 'whep', detectTimeout: false })
    await player.load(new URL(url), token && `Bearer ${token}`)
    return { pc: player.peer, stop: () => player.unload() }
  },
}

export const medooze = {
  async publish({ url, token, media }) {
    const pc = new RTCPeerConnection()
    for (const track of media.getTracks()) pc.addTransceiver(track, { direction: 'sendonly', streams: [media] })
    const client = new MedoozeWhip()
    await client.publish(pc, url, token)
    return { pc, stop: () => client.stop() }
  },
  async watch({ url, token }) {
    const pc = new RTCPeerConnection({ bundlePolicy: 'max-bundle' })
    const media = new MediaStream()
    pc.addTransceiver('audio')
    pc.addTransceiver('video')
    pc.ontrack = ({ track }) => media.addTrack(track)
    video().srcObject = media
    const client = new MedoozeWhep()
    await client.view(pc, url, token)
    return { pc, stop: () => client.stop() }
  },
}
