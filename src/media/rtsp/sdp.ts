/** The codecs that a description names: the encoding of the first track of each kind, in capitals; null: it has none. */
export interface SdpTracks {
  readonly video: string | null
  readonly audio: string | null
}

/** Encodings that may come without a name, by payload type (RFC 3551 section 6). */
const BY_TYPE: ReadonlyMap<string, string> = new Map([
  ['0', 'PCMU'],
  ['8', 'PCMA'],
  ['9', 'G722'],
  ['14', 'MPA'],
  ['26', 'JPEG'],
  ['32', 'MPV'],
])

/** Reads the tracks of a session description (RFC 8866). */
export function readSdp(text: string): SdpTracks {
  const sections = text.split(/^m=/m).slice(1)
  const first = (kind: string): string | null => {
    const section = sections.find((one) => one.startsWith(`${kind} `))
    return section === undefined ? null : encodingOf(section)
  }
  return { video: first('video'), audio: first('audio') }
}

function encodingOf(section: string): string {
  const [, type = ''] = /^\S+ \S+ \S+ (\d{1,3})\b/.exec(section) ?? []
  const [, name] = new RegExp(String.raw`^a=rtpmap:${type} ([\w.-]{1,32})/`, 'm').exec(section) ?? []
  return (name ?? BY_TYPE.get(type) ?? 'unknown').toUpperCase()
}
