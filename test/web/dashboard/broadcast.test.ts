import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { air, choose, goLive, preview, showSource } from '../../../web/dashboard/src/broadcast/broadcast.ts'
import { FIRST_QUALITY } from '../../../web/dashboard/src/broadcast/quality.ts'
import { CREATED, FakePeer, settled } from '../fakes.ts'

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

let leavePage: () => void
beforeEach(() => {
  leavePage = showSource()
  vi.stubGlobal('navigator', {
    mediaDevices: {
      enumerateDevices: async () => [],
      getUserMedia: ({ video }: { video: { deviceId: { exact: string } } }) =>
        new Promise((resolve) => opening.set(video.deviceId.exact, resolve)),
    },
  })
})
afterEach(() => {
  leavePage()
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
  leavePage()
  leavePage = showSource()
  chooseCamera('after')
  expect(await open('before', 'after')).toEqual([false, true])
})

test.each(['shows the camera', 'is another one'])(
  'a broadcast that the server ends while the page %s',
  async (page) => {
    const peers: FakePeer[] = []
    vi.stubGlobal('RTCPeerConnection', function connect(configuration: RTCConfiguration) {
      const peer = new FakePeer(configuration)
      peers.push(peer)
      return peer
    })
    vi.stubGlobal('document', Object.assign(new EventTarget(), { baseURI: 'https://live.test/dashboard/' }))
    vi.stubGlobal('addEventListener', () => undefined)
    vi.stubGlobal('removeEventListener', () => undefined)
    vi.stubGlobal('fetch', async (_url: string, { method }: RequestInit) =>
      method === 'POST' ? CREATED() : new Response(null, { status: 200 }),
    )
    chooseCamera('first')
    await settled()
    const camera = new FakeCamera()
    opening.get('first')?.(camera)
    await settled()
    const started = goLive({ streamName: 'show', token: 'abc', quality: FIRST_QUALITY })
    await settled()
    peers[0]?.become('connected')
    await started
    expect(air.value.state).toBe('live')
    if (page === 'is another one') leavePage()
    expect(camera.track.isStopped).toBe(false)
    peers[0]?.closeTransport()
    await settled()
    expect(air.value).toMatchObject({ state: 'off', problem: { code: 'ended_by_server' } })
    expect(camera.track.isStopped).toBe(page === 'is another one')
  },
)
