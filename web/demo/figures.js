// Figures of a connection, from the browser's own statistics.

/** Reads the figures of an RTCPeerConnection; rates cover the time since the last call. */
export function reader(pc) {
  let before = null
  return async () => {
    const report = [...(await pc.getStats()).values()]
    const now = totals(report)
    const figures = { ...rates(before, now), ...now.facts }
    before = now
    return figures
  }
}

function totals(report) {
  const streams = report.filter(({ type }) => type === 'inbound-rtp' || type === 'outbound-rtp')
  const video = streams.find(({ kind }) => kind === 'video')
  const path = report.find(({ type, nominated }) => type === 'candidate-pair' && nominated)
  const codecs = streams
    .toSorted((a, b) => b.kind.localeCompare(a.kind))
    .map(({ codecId }) => report.find(({ id }) => id === codecId)?.mimeType.split('/')[1])
  return {
    at: performance.now(),
    bytes: streams.reduce((sum, { bytesReceived = 0, bytesSent = 0 }) => sum + bytesReceived + bytesSent, 0),
    frames: video?.framesDecoded ?? video?.framesEncoded ?? 0,
    lost: streams.reduce((sum, { packetsLost = 0 }) => sum + packetsLost, 0),
    facts: {
      resolution: video?.frameWidth ? `${video.frameWidth} × ${video.frameHeight}` : '',
      codecs: codecNames(codecs),
      roundTrip: path?.currentRoundTripTime === undefined ? '' : `${Math.round(path.currentRoundTripTime * 1000)} ms`,
    },
  }
}

function rates(before, now) {
  if (before === null) return {}
  const seconds = (now.at - before.at) / 1000
  return {
    bitrate: bitrate((8 * (now.bytes - before.bytes)) / seconds),
    frameRate: `${Math.round((now.frames - before.frames) / seconds)} fps`,
    lost: `${now.lost}`,
    stands: now.bytes === before.bytes,
  }
}

export const bitrate = (bitsPerSecond) =>
  bitsPerSecond >= 1e6 ? `${(bitsPerSecond / 1e6).toFixed(2)} Mbit/s` : `${Math.round(bitsPerSecond / 1e3)} kbit/s`

/** Common names of codecs, by their names in SDP and MP4. */
const NAMES = { h264: 'H.264', avc1: 'H.264', opus: 'Opus', mp4a: 'AAC' }

/** `H.264 + Opus`. */
export const codecNames = (codecs) =>
  [...new Set(codecs.filter(Boolean).map((name) => NAMES[name.split('.')[0].toLowerCase()] ?? name))].join(' + ')
