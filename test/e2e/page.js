// A test peer inside its page, with the client of the page at /demo. Tests call it as `peer.…`.
const { testVideo } = await import('/demo/picture.js')
const { over, publish, watch } = await import('/demo/webrtc.js')

let held = null

const sum = (streams, name) => streams.reduce((total, { [name]: value = 0 }) => total + value, 0)

async function figures() {
  const report = [...(await held.pc.getStats()).values()]
  const streams = report.filter(({ type }) => type === 'inbound-rtp' || type === 'outbound-rtp')
  const [video, audio] = ['video', 'audio'].map((wanted) => streams.filter(({ kind }) => kind === wanted))
  const codecs = streams.map(({ codecId }) => report.find(({ id }) => id === codecId)?.mimeType)
  return {
    frames: sum(video, 'framesDecoded') + sum(video, 'framesEncoded'),
    keyFrames: sum(video, 'keyFramesDecoded'),
    audioBytes: sum(audio, 'bytesReceived') + sum(audio, 'bytesSent'),
    audioEnergy: sum(audio, 'totalAudioEnergy'),
    bytes: sum(streams, 'bytesReceived') + sum(streams, 'bytesSent'),
    width: video[0]?.frameWidth ?? 0,
    codecs: [...new Set(codecs.filter((name) => name !== undefined))].sort((a, b) => a.localeCompare(b)),
  }
}

/** The quality of the sent or received video. */
async function quality() {
  const streams = [...(await held.pc.getStats()).values()].filter(({ kind }) => kind === 'video')
  const counts = ['freezeCount', 'totalFreezesDuration', 'packetsLost', 'nackCount', 'pliCount']
  const names = [...counts, 'retransmittedPacketsReceived', 'retransmittedPacketsSent']
  const media = streams.filter(({ type }) => type === 'inbound-rtp' || type === 'outbound-rtp')
  return Object.fromEntries(names.map((name) => [name, sum(media, name)]))
}

/** Sends the media of later connections to this UDP port of this machine, whatever the answer says. */
function through(port) {
  globalThis.RTCPeerConnection = class extends RTCPeerConnection {
    setRemoteDescription({ type, sdp }) {
      const udpOnly = sdp.replace(/a=candidate:\S+ \d+ tcp .*\r\n/gi, '')
      const moved = udpOnly.replace(/(a=candidate:\S+ \d+ udp \d+) \S+ \d+ typ/gi, `$1 127.0.0.1 ${port} typ`)
      return super.setRemoteDescription({ type, sdp: moved })
    }
  }
}

/** Later connections do not offer to receive the video codec of this name. */
function lack(name) {
  globalThis.RTCPeerConnection = class extends RTCPeerConnection {
    addTransceiver(kind, init) {
      const transceiver = super.addTransceiver(kind, init)
      const { codecs } = RTCRtpReceiver.getCapabilities(kind)
      transceiver.setCodecPreferences(codecs.filter(({ mimeType }) => mimeType !== `video/${name}`))
      return transceiver
    }
  }
}

/** Makes later connections use TURN servers only. */
function relayedOnly() {
  globalThis.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(configuration) {
      super({ ...configuration, iceTransportPolicy: 'relay' })
    }
  }
}

/** `ok`, or the server's `status text`. */
async function attempt(begin) {
  try {
    held = await begin()
    return 'ok'
  } catch (error) {
    if (error.status === undefined) throw error
    return `${error.status} ${error.message}`
  }
}

function testMedia({ label, scale = 0.25, only }) {
  const { media } = testVideo(() => label, scale)
  return only ? new MediaStream(media.getTracks().filter(({ kind }) => kind === only)) : media
}
const camera = () => navigator.mediaDevices.getUserMedia({ video: { width: 320, height: 180 }, audio: true })

globalThis.peer = {
  publish: (request) =>
    attempt(async () => publish({ ...request, media: request.camera ? await camera() : testMedia(request) })),
  async watch(request) {
    const answer = await attempt(() => watch(request))
    if (answer === 'ok') document.querySelector('video').srcObject = held.media
    return answer
  },
  /** Publishes or watches with another project's client, see `clients.js`. */
  async foreign(begin, request) {
    held = await begin({ ...request, media: testMedia(request) })
    return 'ok'
  },
  /** Plays HLS with hls.js; `ok` as soon as the master playlist has arrived. */
  async hls({ url, token }) {
    const { default: Hls } = await import('/hls.js')
    const hls = new Hls({
      enableWorker: false,
      xhrSetup: (xhr) => token && xhr.setRequestHeader('Authorization', `Bearer ${token}`),
    })
    hls.attachMedia(document.querySelector('video'))
    hls.loadSource(url)
    return new Promise((resolve) => {
      hls.on(Hls.Events.MANIFEST_PARSED, () => resolve('ok'))
      hls.on(Hls.Events.ERROR, (_event, { fatal, response, networkDetails, details }) => {
        if (fatal) resolve(`${response?.code} ${networkDetails?.responseText || details}`)
      })
    })
  },
  /** What the page's player has shown so far. */
  played() {
    const video = document.querySelector('video')
    const { webkitAudioDecodedByteCount: audioBytes, currentTime, videoWidth: width } = video
    const { totalVideoFrames: frames } = video.getVideoPlaybackQuality()
    const bufferedTo = video.buffered.length === 0 ? 0 : video.buffered.end(video.buffered.length - 1)
    return { frames, audioBytes, currentTime, bufferedTo, width }
  },
  figures,
  quality,
  through,
  relayedOnly,
  lack,
  /** The RIDs of layers that the other side reports as received. */
  async arriving() {
    const report = [...(await held.pc.getStats()).values()]
    const reported = report.filter(({ type, kind }) => type === 'remote-inbound-rtp' && kind === 'video')
    return reported
      .map(({ localId }) => report.find(({ id }) => id === localId)?.rid)
      .sort((a, b) => a.localeCompare(b))
  },
  /** The layers of what is watched, after the choice of one: `undefined` chooses none, `null` leaves it to the bandwidth. */
  async layers(choice) {
    const body = JSON.stringify({ encodingId: choice ?? null })
    const post = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
    const response = await fetch(`${held.resource}/layer`, choice === undefined ? {} : post)
    return response.json()
  },
  /** Restarts ICE (RFC 9725 section 4.3.3); returns the server's answer and the username fragment in use. */
  async restart(ifMatch) {
    const { pc, resource } = held
    if (pc.signalingState === 'stable') {
      pc.restartIce()
      await pc.setLocalDescription()
    }
    const read = (sdp, name) => new RegExp(`a=ice-${name}:(\\S+)`).exec(sdp)?.[1]
    const { sdp } = pc.localDescription
    const response = await fetch(resource, {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': ifMatch },
      body: `a=ice-ufrag:${read(sdp, 'ufrag')}\r\na=ice-pwd:${read(sdp, 'pwd')}\r\n`,
    })
    const text = await response.text()
    if (response.status !== 200) return { status: response.status }
    const renewed = ['ufrag', 'pwd'].reduce(
      (answer, name) => answer.replaceAll(new RegExp(`a=ice-${name}:\\S+`, 'g'), `a=ice-${name}:${read(text, name)}`),
      pc.remoteDescription.sdp,
    )
    await pc.setRemoteDescription({ type: 'answer', sdp: renewed })
    return { status: response.status, etag: response.headers.get('ETag'), ufrag: read(text, 'ufrag') }
  },
  /** The server's username fragment of the selected candidate pair. */
  async remoteUfrag() {
    const report = await held.pc.getStats()
    const transport = [...report.values()].find(({ type }) => type === 'transport')
    const pair = report.get(transport.selectedCandidatePairId)
    return report.get(pair?.remoteCandidateId)?.usernameFragment ?? ''
  },
  /** Resolves when the connection is over, with its `connectionState`. */
  async over() {
    await over(held.pc)
    return held.pc.connectionState
  },
  state: () => held.pc.connectionState,
  stop: () => held.stop(),
  /** The video frame as text, to see whether it changes. */
  colours() {
    const context = Object.assign(document.createElement('canvas'), { width: 16, height: 9 }).getContext('2d')
    context.drawImage(document.querySelector('video'), 0, 0, 16, 9)
    return [...context.getImageData(0, 0, 16, 9).data].join()
  },
}
