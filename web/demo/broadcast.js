import { reader } from './figures.js'
import { everySecond, milliseconds, panel } from './panel.js'
import { testVideo } from './picture.js'
import { canSend, over, publish } from './webrtc.js'
import { explain } from './words.js'

const FIGURES = { bitrate: 'Bitrate', resolution: 'Resolution', frameRate: 'Frame rate', codecs: 'Codecs' }

export function broadcastTab(root) {
  const view = panel(root, [...Object.values(FIGURES), 'Round trip', 'Live after'])
  const codecs = view.form.elements.codec
  for (const option of [...codecs.options]) if (!canSend(option.value)) option.remove()
  let live = null

  /** False if it is already over, or another one has begun. */
  const end = async (which = live, saysGoodbye = true) => {
    const ended = live
    if (ended === null || ended !== which) return false
    live = null
    ended.release()
    view.play(null)
    view.state('idle', 'Off the air')
    view.figures({})
    face(false)
    if (saysGoodbye) await ended.session?.stop()
    else ended.session?.pc.close()
    return true
  }

  const face = (on) => {
    view.button.textContent = on ? 'Stop' : 'Go live'
    view.button.classList.toggle('stop', on)
    view.button.ariaDisabled = null
  }

  const begin = async () => {
    // A disabled button would lose the focus.
    view.button.ariaDisabled = 'true'
    view.inform()
    const mine = { releases: [], session: null, release: () => mine.releases.forEach((release) => release()) }
    live = mine
    try {
      const source = await open(view.field('video'), () => view.field('stream'))
      mine.releases.push(() => source.stop())
      view.play(source.media)
      view.state('waiting', 'Connecting')
      await goLive(view, mine, source.media, end)
      face(true)
    } catch (error) {
      await end()
      view.refused(explain(error))
    }
  }

  view.form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (view.button.ariaDisabled) return
    void (live === null ? begin() : end().then(() => view.inform()))
  })
  // The page may have been loaded again.
  addEventListener('pagehide', () => void end(live, false))
}

async function goLive(view, mine, media, end) {
  const clicked = performance.now()
  const [stream, token, codec, sourceId] = ['stream', 'token', 'codec', 'source'].map(view.field)
  const url = `./api/whip/${encodeURIComponent(stream)}`
  mine.session = await publish({ url, token, media, codec, sourceId })
  const { pc, streamId } = mine.session
  if (streamId !== '') view.inform(watchLink(streamId))
  let after = ''
  const changed = () => {
    if (pc.connectionState === 'connected') {
      after ||= milliseconds(performance.now() - clicked)
      view.state('live', 'On the air')
    }
  }
  void over(pc).then(async () => {
    if (!(await end(mine))) return
    view.refused({ words: 'The server ended this broadcast, or the connection was lost.', detail: '' })
  })
  pc.addEventListener('connectionstatechange', changed)
  changed()
  const read = reader(pc)
  const stop = everySecond(async () => {
    const read1 = await read()
    const shown = Object.fromEntries(Object.entries(FIGURES).map(([key, label]) => [label, read1[key]]))
    view.figures({ ...shown, 'Round trip': read1.roundTrip, 'Live after': after })
  })
  mine.releases.push(stop)
}

async function open(source, label) {
  if (source === 'test') return testVideo(label)
  const constraints = {
    video: { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } },
    audio: true,
  }
  if (!navigator.mediaDevices) throw new DOMException('This page has no https', 'SecurityError')
  const media =
    source === 'camera'
      ? await navigator.mediaDevices.getUserMedia(constraints)
      : await navigator.mediaDevices.getDisplayMedia(constraints)
  return { media, stop: () => media.getTracks().forEach((track) => track.stop()) }
}

function watchLink(streamId) {
  const line = document.createElement('p')
  const link = document.createElement('a')
  link.href = `./demo#watch=${encodeURIComponent(streamId)}`
  link.target = '_blank'
  link.textContent = streamId
  line.append('Watch it in another tab: ', link)
  return line
}
