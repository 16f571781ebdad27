import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { choose, preview, release } from '../../../web/dashboard/src/broadcast/broadcast.ts'
import { FIRST_QUALITY } from '../../../web/dashboard/src/broadcast/quality.ts'
import { settled } from '../fakes.ts'

class FakeTrack extends EventTarget {
  readonly kind = 'video'
  enabled = true
  isStopped = false
  stop(): void {
    this.isStopped = true
  }
}

class FakeCamera {
  readonly track = new FakeTrack()
  getTracks = () => [this.track]
  getAudioTracks = () => []
  getVideoTracks = () => [this.track]
}

/** Cameras that are being opened, by their ids. */
const opening = new Map<string, (camera: FakeCamera) => void>()

beforeEach(() => {
  vi.stubGlobal('navigator', {
    mediaDevices: {
      enumerateDevices: async () => [],
      getUserMedia: ({ video }: { video: { deviceId: { exact: string } } }) =>
        new Promise((resolve) => opening.set(video.deviceId.exact, resolve)),
    },
  })
})
afterEach(() => {
  release()
  vi.unstubAllGlobals()
})

function chooseCamera(cameraId: string): void {
  void choose('camera', { quality: FIRST_QUALITY, cameraId, microphoneId: '', label: () => '' })
}

/** Opens cameras in this order. Returns whether each is on. */
async function open(...cameraIds: string[]): Promise<boolean[]> {
  await settled()
  const cameras = cameraIds.map((id) => [id, new FakeCamera()] as const)
  for (const [id, camera] of cameras) {
    opening.get(id)?.(camera)
    await settled()
  }
  return cameras.map(([, { track }]) => !track.isStopped)
}

test.each([
  [
    ['first', 'second'],
    [false, true],
  ],
  [
    ['second', 'first'],
    [true, false],
  ],
])(
  'of two cameras that are chosen in a row only the second is left on, opened in the order %j',
  async (order, areOn) => {
    chooseCamera('first')
    chooseCamera('second')
    expect(await open(...order)).toEqual(areOn)
    expect(preview.value.problem).toBeNull()
  },
)

test('a camera that opens after the user has left the page, and come back, is let go', async () => {
  chooseCamera('before')
  release()
  chooseCamera('after')
  expect(await open('before', 'after')).toEqual([false, true])
})
