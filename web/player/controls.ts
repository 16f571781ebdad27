import { pressKey } from './keyboard.ts'
import type { Screen } from './screen.ts'

const VOLUME_STEP = 0.1
const SEEK_SECONDS = 5

/** What the controls need of their player. */
export interface ControlActions {
  /** Takes the controls off. */
  readonly signal: AbortSignal
  readonly togglePlay: () => void
  /** Whether the viewer can go back in time. */
  readonly canSeek: () => boolean
}

/** Connects the controls that need only the video element and the page: audio, captions, full screen, keys. */
export function wireControls(host: HTMLElement, screen: Screen, actions: ControlActions): void {
  const { video, frame, mute, audioOn, volume, captions, captionsSlot, settings, panel } = screen
  const { pip, fullscreen } = screen
  const on = (target: EventTarget, event: string, listener: (event: Event) => void): void =>
    target.addEventListener(event, listener, { signal: actions.signal })
  for (const control of [mute, audioOn]) on(control, 'click', () => toggleMute(video))
  on(volume, 'input', () => setVolume(video, Number(volume.value)))
  on(captions, 'click', () => toggleCaptions(screen))
  on(captionsSlot, 'slotchange', () => showWhatWorks(screen))
  on(settings, 'click', () => screen.openSettings(panel.hasAttribute('hidden')))
  on(pip, 'click', () => void togglePip(video))
  on(fullscreen, 'click', () => void toggleFullscreen(host, video))
  on(video, 'dblclick', () => void toggleFullscreen(host, video))
  on(document, 'fullscreenchange', () => screen.showFullscreen(isFullscreen(host)))
  on(frame, 'keydown', (event) => pressed(event as KeyboardEvent, host, screen, actions))
  showWhatWorks(screen)
}

function pressed(event: KeyboardEvent, host: HTMLElement, screen: Screen, actions: ControlActions): void {
  const { video, panel } = screen
  if (event.key === 'Escape' && !panel.hidden) return screen.openSettings(false)
  if (event.key === 'Escape' && screen.openSheet !== null) return screen.openSheet.close()
  const changeVolume = (by: number): void => setVolume(video, (video.muted ? 0 : video.volume) + by)
  const goBy = (seconds: number): unknown => actions.canSeek() && seek(video, seconds)
  pressKey(event, {
    ' ': actions.togglePlay,
    k: actions.togglePlay,
    m: () => toggleMute(video),
    f: () => toggleFullscreen(host, video),
    c: () => toggleCaptions(screen),
    i: () => screen.toggle(screen.statistics),
    '?': () => screen.toggle(screen.help),
    ArrowUp: () => changeVolume(VOLUME_STEP),
    ArrowDown: () => changeVolume(-VOLUME_STEP),
    ArrowLeft: () => goBy(-SEEK_SECONDS),
    ArrowRight: () => goBy(SEEK_SECONDS),
  })
}

/** Leaves out what this browser, or the frame around the page, does not allow. */
function showWhatWorks({ captions, captionsSlot, pip, fullscreen, video }: Screen): void {
  captions.hidden = captionsSlot.assignedNodes().length === 0
  pip.hidden = !document.pictureInPictureEnabled || video.disablePictureInPicture
  fullscreen.hidden = !document.fullscreenEnabled && !('webkitEnterFullscreen' in video)
}

function toggleMute(video: HTMLVideoElement): void {
  const isSilent = video.muted || video.volume === 0
  video.muted = !isSilent
  if (isSilent && video.volume === 0) video.volume = 1
}

function setVolume(video: HTMLVideoElement, volume: number): void {
  video.volume = Math.min(1, Math.max(0, volume))
  video.muted = video.volume === 0
}

function toggleCaptions({ frame, captions }: Screen): void {
  const isOff = frame.classList.toggle('captions-off')
  captions.setAttribute('aria-pressed', String(!isOff))
}

const isFullscreen = (host: HTMLElement): boolean => document.fullscreenElement === host

/** On iPhones only the video element itself can fill the screen. */
async function toggleFullscreen(host: HTMLElement, video: HTMLVideoElement): Promise<void> {
  if (isFullscreen(host)) return document.exitFullscreen()
  if (document.fullscreenEnabled) return host.requestFullscreen().catch(() => undefined)
  if ('webkitEnterFullscreen' in video) (video.webkitEnterFullscreen as () => void)()
}

async function togglePip(video: HTMLVideoElement): Promise<void> {
  if (document.pictureInPictureElement !== null) return document.exitPictureInPicture()
  await video.requestPictureInPicture().catch(() => undefined)
}

function seek(video: HTMLVideoElement, bySeconds: number): void {
  const { seekable } = video
  if (seekable.length === 0) return
  const [first, last] = [seekable.start(0), seekable.end(seekable.length - 1)]
  video.currentTime = Math.min(last, Math.max(first, video.currentTime + bySeconds))
}
