const NAMES = ['ufrag', 'pwd'] as const

const read = (sdp: string, name: string): string => new RegExp(`^a=${name}:(.*?)\r?$`, 'm').exec(sdp)?.[1] ?? ''

/** The description with the ICE credentials of another one, which are the same in all of its media sections. */
export const withCredentials = (sdp: string, from: string): string =>
  NAMES.reduce((text, name) => {
    const value = read(from, `ice-${name}`)
    return text.replaceAll(new RegExp(`a=ice-${name}:\\S+`, 'g'), () => `a=ice-${name}:${value}`)
  }, sdp)

/**
 * An SDP fragment (RFC 8840 section 9) with the ICE credentials of a description, and candidates. All media is bundled,
 * so one section stands for all.
 */
export function fragmentOf(sdp: string, candidates: readonly string[] = []): string {
  const [media = ''] = /^m=\S+ /m.exec(sdp) ?? []
  const lines = [
    ...NAMES.map((name) => `a=ice-${name}:${read(sdp, `ice-${name}`)}`),
    ...(candidates.length === 0 ? [] : [`${media}9 UDP/TLS/RTP/SAVPF 0`, `a=mid:${read(sdp, 'mid')}`]),
    ...candidates.map((candidate) => `a=${candidate}`),
  ]
  return `${lines.join('\r\n')}\r\n`
}
