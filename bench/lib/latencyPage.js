// Runs inside a page of the bench `capture-to-render`. Draws frames with their number, and sends them to a peer
// connection of the same page, once directly and once through a server. Both ends read one clock.
const { publish, watch } = await import('/demo/webrtc.js')

const [WIDTH, HEIGHT, FRAMES] = [640, 360, 30]
/** The frame number in black and white, one column per bit. */
const BITS = 16
const ROWS = 40

/** Draws frames until `stop`. `drawnAt` maps a frame number to its drawing time. */
function clockVideo() {
  const canvas = Object.assign(document.createElement('canvas'), { width: WIDTH, height: HEIGHT })
  const context = canvas.getContext('2d', { alpha: false })
  const drawnAt = new Map()
  let number = 0
  const paint = () => {
    number = (number + 1) % 2 ** BITS
    context.fillStyle = `hsl(${number % 360} 40% 40%)`
    context.fillRect(0, 0, WIDTH, HEIGHT)
    context.fillStyle = '#fff'
    context.fillRect((number * 7) % WIDTH, ROWS + ((number * 3) % (HEIGHT - ROWS)), 60, 60)
    for (let bit = 0; bit < BITS; bit++) {
      context.fillStyle = (number >> bit) & 1 ? '#fff' : '#000'
      context.fillRect((bit * WIDTH) / BITS, 0, WIDTH / BITS, ROWS)
    }
    drawnAt.set(number, performance.now())
  }
  paint()
  const timer = setInterval(paint, 1000 / FRAMES)
  return { media: canvas.captureStream(FRAMES), drawnAt, stop: () => clearInterval(timer) }
}

/** Plays `media` and calls `shown` with the number of each frame when it appears. */
function play(media, shown) {
  const video = Object.assign(document.createElement('video'), { autoplay: true, muted: true })
  document.querySelector('video').replaceWith(video)
  const probe = Object.assign(document.createElement('canvas'), { width: BITS, height: 1 })
  const context = probe.getContext('2d', { alpha: false, willReadFrequently: true })
  video.srcObject = media
  const look = (now) => {
    if (!video.isConnected) return
    video.requestVideoFrameCallback(look)
    context.drawImage(video, 0, (ROWS / 4 / HEIGHT) * video.videoHeight, video.videoWidth, 1, 0, 0, BITS, 1)
    const { data } = context.getImageData(0, 0, BITS, 1)
    let number = 0
    for (let bit = 0; bit < BITS; bit++) if (data[bit * 4] > 127) number |= 1 << bit
    shown(number, now)
  }
  video.requestVideoFrameCallback(look)
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Two peer connections of this page, directly connected. */
async function connectDirectly(media, codec) {
  const [from, to] = [new RTCPeerConnection(), new RTCPeerConnection()]
  from.addEventListener('icecandidate', ({ candidate }) => void (candidate && to.addIceCandidate(candidate)))
  to.addEventListener('icecandidate', ({ candidate }) => void (candidate && from.addIceCandidate(candidate)))
  const arrived = new Promise((resolve) => to.addEventListener('track', ({ streams }) => resolve(streams[0])))
  const transceiver = from.addTransceiver(media.getVideoTracks()[0], {
    direction: 'sendonly',
    streams: [media],
    sendEncodings: [{ maxBitrate: 2_500_000 }],
  })
  const all = RTCRtpSender.getCapabilities('video').codecs
  transceiver.setCodecPreferences(all.filter(({ mimeType }) => mimeType.toLowerCase() === `video/${codec}`))
  await from.setLocalDescription()
  await to.setRemoteDescription(from.localDescription)
  await to.setLocalDescription()
  await from.setRemoteDescription(to.localDescription)
  return { media: await arrived, stop: async () => [from, to].forEach((pc) => pc.close()) }
}

async function connectThrough({ whip, whep, token }, media, codec) {
  const sending = await publish({ url: whip, token, media, codec })
  const watching = await join(whep)
  return {
    media: watching.media,
    async stop() {
      await watching.stop()
      await sending.stop()
    },
  }
}

/** Retries while the server answers that the stream is not published. */
async function join(whep) {
  for (;;) {
    try {
      return await watch({ url: whep })
    } catch (error) {
      if (error.status !== 409) throw error
      await sleep(50)
    }
  }
}

globalThis.latency = {
  /** Milliseconds from drawing to showing of each frame, for `seconds`. `server`: null for a direct connection. */
  async measure({ server, codec, seconds, warmSeconds }) {
    const clock = clockVideo()
    const connection = await (server === null
      ? connectDirectly(clock.media, codec)
      : connectThrough(server, clock.media, codec))
    const took = []
    play(connection.media, (number) => {
      const drawnAt = clock.drawnAt.get(number)
      if (drawnAt !== undefined) took.push({ atMs: performance.now(), ms: performance.now() - drawnAt })
    })
    await sleep(warmSeconds * 1000)
    const fromMs = performance.now()
    await sleep(seconds * 1000)
    await connection.stop()
    clock.stop()
    return took.filter(({ atMs }) => atMs >= fromMs).map(({ ms }) => ms)
  },
  /** Milliseconds from request to first frame, of viewers one after another. */
  async join({ server, codec, count }) {
    const clock = clockVideo()
    const sending = await publish({ url: server.whip, token: server.token, media: clock.media, codec })
    await (await join(server.whep)).stop()
    await sleep(2000)
    const took = []
    for (let viewer = 0; viewer < count; viewer++) {
      const beganMs = performance.now()
      const watching = await watch({ url: server.whep })
      await new Promise((resolve) => play(watching.media, resolve))
      took.push(performance.now() - beganMs)
      const decoded = [...(await watching.pc.getStats()).values()].find(({ framesDecoded }) => framesDecoded > 0)
      if (decoded === undefined) throw new Error('an unknown frame was shown')
      await watching.stop()
      await sleep(300)
    }
    await sending.stop()
    clock.stop()
    return took
  },
}
