/** A source as ffmpeg is given it. */
export interface Dialled {
  readonly url: string
  /** Options that come before it. */
  readonly options: readonly string[]
}

/**
 * The scheme, the host as it is written and the rest of a source that was checked when it was saved. A user, who can only
 * be an empty one (`:@host`), goes: behind an address it would make the old host the one that is dialled.
 */
const PARTS = /^([a-z]+):\/\/(?:[^/?#]*@)?(\[[^\]]*\]|[^/:?#]*)(.*)$/is

/**
 * The same source by an address instead of its name, so that nobody asks a name server again; an RTMP server is still told
 * the name, by which it may choose what to serve. @param at an address, and a port where another one is to be dialled
 */
export function dialledAt(source: string, at: string): Dialled {
  const [, scheme = '', , rest = ''] = PARTS.exec(source) ?? []
  const [, address = at, port] = /^(.*)#(\d+)$/.exec(at) ?? []
  const host = address.includes(':') ? `[${address}]` : address
  if (!scheme.toLowerCase().startsWith('rtmp')) return { url: `${scheme}://${host}${rest}`, options: [] }
  const behind = port === undefined ? rest : `:${port}${rest.replace(/^:\d+/, '')}`
  return { url: `rtmp://${host}${behind}`, options: ['-rtmp_tcurl', tcUrlOf(source)] }
}

/** The address of the application, as ffmpeg itself makes it of an RTMP source: all but the name of the stream. */
function tcUrlOf(source: string): string {
  const [, scheme = '', host = '', rest = ''] = PARTS.exec(source) ?? []
  const [, port = '', path = ''] = /^(:\d+)?(.*)$/s.exec(rest) ?? []
  const [app = '', second, ...more] = path.replace(/^\//, '').split('/')
  // `app/instance/stream`, unless what looks like an instance is the stream: `app/mp4:folder/stream`.
  const isInstance = app !== 'ondemand' && second !== undefined && more.length > 0 && !second.includes(':')
  return `${scheme}://${host}${port}/${isInstance ? `${app}/${second}` : app}`
}
