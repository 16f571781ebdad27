// Players of other projects side by side, each as its own pages show it: nothing is set but the address and that it is live.
// What they show is read from their pictures: `countedEncoder.ts` draws the number of each picture into it.
const { default: Hls } = await import('/hls.js')
const { shaka, videojs } = globalThis

const BITS = 14
/** Pictures that were shown, by player. */
const shown = {}
const errors = {}

const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 1 })
const context = canvas.getContext('2d', { willReadFrequently: true })

/** The number in the picture that is shown now: a column of 20 pixels for each bit, the lowest at the left. */
function numberOf(video) {
  context.drawImage(video, 0, 90, 320, 1, 0, 0, 320, 1)
  const { data } = context.getImageData(0, 0, 320, 1)
  let number = 0
  for (let bit = 0; bit < BITS; bit++) if (data[(30 + bit * 20) * 4] > 128) number |= 1 << bit
  return number
}

function observe(name) {
  const video = document.querySelector(`#${name}`)
  const pictures = []
  shown[name] = pictures
  errors[name] = []
  const look = () => {
    pictures.push({ number: numberOf(video), decoded: video.getVideoPlaybackQuality().totalVideoFrames })
    video.requestVideoFrameCallback(look)
  }
  video.requestVideoFrameCallback(look)
  return { video, failed: (error) => errors[name].push(String(error)) }
}

const PLAYERS = {
  async hlsjs(url) {
    const { video, failed } = observe('hlsjs')
    const hls = new Hls()
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
  async shaka(url) {
    const { video, failed } = observe('shaka')
    const player = new shaka.Player()
    await player.attach(video)
    player.addEventListener('error', ({ detail }) => failed(`${detail.code} ${detail.data?.[1] ?? ''}`))
    await player.load(url)
    await video.play()
  },
}

globalThis.players = {
  play: (name, url) => PLAYERS[name](url),
  /** What a player has shown since it began: the number of each picture, and how many were decoded by then. */
  seen: (name) => ({ pictures: shown[name], errors: errors[name] }),
}
