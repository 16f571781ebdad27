import { type Quality, sizeOf } from './quality.ts'
import { openTestPattern, type Source } from './testPattern.ts'

export type SourceKind = 'test' | 'camera' | 'screen'

export interface SourceOptions {
  readonly quality: Quality
  /** '': the browser chooses. */
  readonly cameraId: string
  readonly microphoneId: string
  /** The text in the test pattern. */
  readonly label: () => string
}

/** Opens a source. Camera and screen ask the user for permission. @throws DOMException when it is refused */
export async function openSource(kind: SourceKind, options: SourceOptions): Promise<Source> {
  const { quality, label } = options
  const { framesPerSecond } = quality
  if (kind === 'test') return openTestPattern({ ...sizeOf(quality), framesPerSecond, label })
  const media = kind === 'camera' ? await openCamera(options) : await openScreen(options)
  return { media, stop: () => media.getTracks().forEach((track) => track.stop()) }
}

const videoOf = ({ quality }: SourceOptions): MediaTrackConstraints => {
  const { width, height } = sizeOf(quality)
  return { width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: quality.framesPerSecond } }
}

const device = (id: string): MediaTrackConstraints => (id === '' ? {} : { deviceId: { exact: id } })

/** A computer without a microphone has a camera all the same. */
async function openCamera(options: SourceOptions): Promise<MediaStream> {
  const all = await devices().enumerateDevices()
  return devices().getUserMedia({
    video: { ...videoOf(options), ...device(options.cameraId) },
    audio: all.some(({ kind }) => kind === 'audioinput') && device(options.microphoneId),
  })
}

const openScreen = (options: SourceOptions): Promise<MediaStream> =>
  devices().getDisplayMedia({ video: videoOf(options), audio: true })

/** Browsers offer devices to pages with https and to pages of the own machine only. */
function devices(): MediaDevices {
  const { mediaDevices } = navigator as { mediaDevices?: MediaDevices }
  if (!mediaDevices) throw new DOMException('This page has no https', 'SecurityError')
  return mediaDevices
}

/** The cameras and microphones that the user has admitted; they have names only then. */
export async function listDevices(): Promise<Readonly<Record<'cameras' | 'microphones', readonly MediaDeviceInfo[]>>> {
  const all = await devices().enumerateDevices()
  const ofKind = (kind: MediaDeviceKind) => all.filter((one) => one.kind === kind && one.deviceId !== '')
  return { cameras: ofKind('videoinput'), microphones: ofKind('audioinput') }
}
