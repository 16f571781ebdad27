import { bitrate, codecNames, reader } from './figures.js'
import { everySecond, milliseconds, panel } from './panel.js'
import { over, Refusal, watch } from './webrtc.js'
import { explain } from './words.js'

const NOT_LIVE = 409

export function watchTab(root) {
  const names = ['Bitrate', 'Resolution', 'Frame rate', 'Codecs', 'First frame', 'Packets lost']
  const view = panel(root, names)
  let current = null

  const end = async () => {
    const ended = current
    current = null
    ended?.abort()
    view.play(null)
    view.state('idle', 'Not watching')
    view.figures({})
    view.button.textContent = 'Watch'
    view.button.classList.remove('stop')
  }

  const begin = async () => {
    const stopping = new AbortController()
    current = stopping
    view.inform()
    view.button.textContent = 'Stop'
    view.button.classList.add('stop')
    try {
      await stay(view, stopping)
    } catch (error) {
      if (stopping.signal.aborted) return
      await end()
      view.refused(explain(error))
    }
  }

  view.form.addEventListener('submit', (event) => {
    event.preventDefault()
    void (current === null ? begin() : end())
  })
  addEventListener('pagehide', () => current?.abort())
  return {
    show(stream) {
      view.form.elements.stream.value = stream
    },
  }
}

/** Watches until it is stopped. When a session ends, it shows that at once and reconnects. Without a publisher it waits. */
async function stay(view, stopping) {
  const play = view.field('protocol') === 'hls' ? playHls : playWhep
  while (!stopping.signal.aborted) {
    try {
      view.state('waiting', 'Connecting')
      await play(view, stopping.signal)
      if (stopping.signal.aborted) return
      view.state('waiting', 'Connection ended')
      await pause(stopping.signal, 1000)
    } catch (error) {
      if (stopping.signal.aborted || !(error instanceof Refusal) || error.status !== NOT_LIVE) throw error
      view.refused(explain(error))
      view.state('waiting', 'Waiting for the broadcast')
      await pause(stopping.signal, 1000 * (error.retryAfterSeconds || 2))
    }
  }
}

/** Resolves when the session is over; the next attempt then waits, or shows the reason. */
async function playWhep(view, signal) {
  const clicked = performance.now()
  const [account, stream] = streamOf(view)
  const url = `./api/whep/${encodeURIComponent(account)}/${encodeURIComponent(stream)}`
  const session = await watch({ url, token: view.field('token'), sourceId: view.field('source') })
  if (signal.aborted) return session.stop()
  const first = firstFrame(view, clicked)
  view.play(session.media)
  const read = reader(session.pc)
  const stop = everySecond(async () => {
    const { bitrate, resolution, frameRate, codecs, lost, stands } = await read()
    const figures = { Bitrate: bitrate, Resolution: resolution, 'Frame rate': frameRate, Codecs: codecs }
    view.figures({ ...figures, 'Packets lost': lost, 'First frame': first() })
    // A replaced or returning broadcast continues in this connection.
    if (first() !== '') view.state(...(stands ? ['waiting', 'Waiting for the broadcast'] : ['live', 'Live']))
  })
  await Promise.race([over(session.pc), aborted(signal)])
  stop()
  view.play(null)
  await session.stop()
}

const aborted = (signal) => new Promise((resolve) => signal.addEventListener('abort', resolve))

async function playHls(view, signal) {
  const clicked = performance.now()
  const [account, stream] = streamOf(view)
  const url = `./hls/${encodeURIComponent(account)}/${encodeURIComponent(stream)}/index.m3u8`
  const first = firstFrame(view, clicked)
  const { default: Hls } = await import('./hls.js')
  if (signal.aborted) return
  const token = view.field('token')
  const hls = new Hls({
    enableWorker: false,
    lowLatencyMode: true,
    // After a stall the player would stay behind: play faster, and skip if that takes too long.
    maxLiveSyncPlaybackRate: 1.5,
    liveSyncDuration: 1.5,
    liveMaxLatencyDuration: 6,
    xhrSetup: (xhr) => {
      if (token !== '') xhr.setRequestHeader('Authorization', `Bearer ${token}`)
    },
  })
  const stop = everySecond(() => view.figures(hlsFigures(hls, view.video, first())))
  try {
    await playing(hls, url, view, signal)
  } finally {
    stop()
    hls.destroy()
    view.lit(false)
  }
}

/** Resolves when playback is stopped; rejects with the server's refusal. */
function playing(hls, url, view, signal) {
  const { Events } = hls.constructor
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', resolve)
    hls.on(Events.MANIFEST_PARSED, () => view.lit(true))
    hls.on(Events.ERROR, (_event, { fatal, response, details, networkDetails }) => {
      if (!fatal) return
      const status = response?.code ?? 0
      const text = networkDetails?.responseText || details
      const isOver = status === 404 || status === 503
      reject(isOver ? new Refusal(NOT_LIVE, 'Stream not being published') : new Refusal(status, text))
    })
    hls.loadSource(url)
    hls.attachMedia(view.video)
  })
}

function hlsFigures(hls, video, first) {
  const level = hls.levels[hls.currentLevel]
  return {
    Bitrate: hls.bandwidthEstimate > 0 && level?.bitrate ? bitrate(level.bitrate) : '',
    Resolution: video.videoWidth === 0 ? '' : `${video.videoWidth} × ${video.videoHeight}`,
    'Frame rate': level?.frameRate ? `${Math.round(level.frameRate)} fps` : '',
    Codecs: codecNames([level?.videoCodec, level?.audioCodec]),
    'First frame': first,
  }
}

/** Returns a function for the time from `since` to the first frame on the screen. */
function firstFrame(view, since) {
  let after = ''
  view.video.requestVideoFrameCallback(() => {
    after = milliseconds(performance.now() - since)
    view.inform()
    view.state('live', 'Live')
  })
  return () => after
}

function streamOf(view) {
  const stream = view.field('stream')
  const slash = stream.indexOf('/')
  if (slash < 1) throw new Refusal(0, 'Write the stream as account/name, such as a1b2c3/show.')
  return [stream.slice(0, slash), stream.slice(slash + 1)]
}

const pause = (signal, ms) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
