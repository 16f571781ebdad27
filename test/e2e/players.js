// Players of other projects side by side, as in their own sample pages: only the URL and live mode are set. The test
// reads from their frames what they show: `countedPublisher.ts` draws the number into each frame.
const { default: Hls } = await import('/hls.js')
const { shaka, videojs } = globalThis

const BITS = 14
/** Shown frames, by player. */
const shown = {}
const errors = {}
/** Seconds behind the publisher, as the player says. */
const latency = {}

const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 1 })
const context = canvas.getContext('2d', { willReadFrequently: true })

/** The number of the current frame: a column of 20 pixels for each bit, the lowest bit at the left. */
function numberOf(video) {
  context.drawImage(video, 0, 90, 320, 1, 0, 0, 320, 1)
  const { data } = context.getImageData(0, 0, 320, 1)
  let number = 0
  for (let bit = 0; bit < BITS; bit++) if (data[(30 + bit * 20) * 4] > 128) number |= 1 << bit
  return number
}

/** The start of the buffered piece at this time. */
function pieceAt({ buffered }, time) {
  const starts = Array.from({ length: buffered.length }, (_, at) => buffered.start(at))
  return starts.findLast((start) => start <= time) ?? time
}

function observe(name, id = name) {
  const video = document.querySelector(`#${id}`)
  const frames = []
  shown[name] = frames
  errors[name] = []
  const look = (_now, { mediaTime: time }) => {
    const { totalVideoFrames: decoded } = video.getVideoPlaybackQuality()
    frames.push({ number: numberOf(video), time, pieceFrom: pieceAt(video, time), decoded })
    video.requestVideoFrameCallback(look)
  }
  video.requestVideoFrameCallback(look)
  return { video, failed: (error) => errors[name].push(String(error)) }
}

const PLAYERS = {
  async hlsjs(url, lines = 'const hls = new Hls()', name = 'hlsjs') {
    const { video, failed } = observe(name, 'hlsjs')
    // oxlint-disable-next-line typescript/no-implied-eval -- the lines of the guide are text, and this runs them
    const hls = new Function('Hls', `${lines}; return hls`)(Hls)
    latency.hlsjs = () => hls.latency
    hls.on(Hls.Events.ERROR, (_event, { details, fatal }) => fatal && failed(details))
    hls.attachMedia(video)
    hls.loadSource(url)
    hls.once(Hls.Events.MANIFEST_PARSED, () => video.play())
  },
  async videojs(url) {
    const { failed } = observe('videojs')
    const player = videojs('videojs', { autoplay: 'muted' })
    player.on('error', () => failed(player.error()?.message))
    player.src({ src: url, type: 'application/x-mpegURL' })
  },
  hlsjsCmcd: (url) => PLAYERS.hlsjs(url, 'const hls = new Hls({ cmcd: { useHeaders: true } })', 'hlsjsCmcd'),
  // Without a session id Shaka makes one with a function that pages have over HTTPS alone.
  shakaCmcd: (url) => PLAYERS.shaka(url, { enabled: true, useHeaders: true, sessionId: 'one' }, 'shakaCmcd'),
  async shaka(url, cmcd = {}, name = 'shaka') {
    const { video, failed } = observe(name, 'shaka')
    const player = new shaka.Player()
    await player.attach(video)
    player.configure({ cmcd })
    player.addEventListener('error', ({ detail }) => failed(`${detail.code} ${detail.data?.[1] ?? ''}`))
    await player.load(url)
    await video.play()
  },
}

globalThis.players = {
  /** @param lines that make `hls` */
  play: (name, url, lines) => PLAYERS[name](url, lines),
  latency: (name) => latency[name](),
  /** What a player has shown so far, see `smoothness.ts`. */
  seen: (name) => ({ frames: shown[name], errors: errors[name] }),
}
