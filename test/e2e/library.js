// A page with `sluice/client`, as an integrator has one. Tests call it as `library.…`.
const { testVideo } = await import('/demo/picture.js')
const { sendableCodecs, WhepViewer, WhipPublisher } = await import('/client/index.js')

const states = []
const onState = (state, reason) => states.push(reason === null ? state : `${state}: ${reason.code}`)
let client = null

/** `ok`, or the code and the text of the refusal. */
const outcome = (begun) =>
  begun.then(
    () => 'ok',
    ({ code, message }) => `${code}: ${message}`,
  )

globalThis.library = {
  states,
  sendableCodecs,
  publish(options) {
    client = new WhipPublisher({ ...options, onState })
    return outcome(client.start(testVideo(() => 'test', options.scale ?? 0.25).media))
  },
  watch(options) {
    const onMedia = (media) => (document.querySelector('video').srcObject = media)
    client = new WhepViewer({ ...options, onState, onMedia })
    return outcome(client.start())
  },
  stats: () => client.stats(),
  /** Of media, since the connection began. */
  bytes: async () =>
    [...((await client.getStats())?.values() ?? [])].reduce(
      (sum, { type, bytesReceived }) => sum + (type === 'inbound-rtp' ? bytesReceived : 0),
      0,
    ),
  stop: () => client.stop(),
  streamId: () => client.streamId,
  state: () => client.state,
  frames: () => document.querySelector('video').getVideoPlaybackQuality().totalVideoFrames,
  /** As when the machine gets another network. */
  changeNetwork: () => dispatchEvent(new Event('online')),
  replaceVideo: () => client.replaceTrack(testVideo(() => 'other', 0.25).media.getVideoTracks()[0]),
}
