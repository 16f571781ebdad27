/** A source as ffmpeg is given it. */
export interface Dialled {
  readonly url: string
  /** Options of ffmpeg to dial it with, by name. */
  readonly options: Readonly<Record<string, string>>
}

interface Parts {
  readonly scheme: string
  /** As it is written; an address of IPv6 in brackets. */
  readonly host: string
  /** With its colon; empty: none. */
  readonly port: string
  /** With the query. */
  readonly path: string
}

/**
 * The parts of a source that was checked when it was saved. A user, who can only be an empty one (`:@host`), goes: behind an
 * address it would make the old host the one that is dialled. So does the colon of no port.
 */
function partsOf(source: string): Parts {
  const found = /^([a-z]+):\/\/(?:[^/?#]*@)?(\[[^\]]*\]|[^/:?#]*)(?::(\d*))?(.*)$/is.exec(source) ?? []
  const [, scheme = '', host = '', port = '', path = ''] = found
  return { scheme, host, port: port === '' ? '' : `:${port}`, path }
}

/**
 * The same source by an address instead of its name, so that nobody asks a name server again; an RTMP server is still told
 * the name, by which it may choose what to serve. @param at an address, and a port where another one is to be dialled
 */
export function dialledAt(source: string, at: string): Dialled {
  const parts = partsOf(source)
  const [, address = at, door] = /^(.*)#(\d+)$/.exec(at) ?? []
  const host = address.includes(':') ? `[${address}]` : address
  const authority = `${host}${door === undefined ? parts.port : `:${door}`}`
  if (!parts.scheme.toLowerCase().startsWith('rtmp')) {
    return { url: `${parts.scheme}://${authority}${parts.path}`, options: {} }
  }
  return { url: `rtmp://${authority}${parts.path}`, options: { rtmp_tcurl: tcUrlOf(parts) } }
}

/** The address of the application, as ffmpeg itself makes it of an RTMP source: all but the name of the stream. */
function tcUrlOf({ scheme, host, port, path }: Parts): string {
  const [app = '', second, ...more] = path.replace(/^\//, '').split('/')
  // `app/instance/stream`, unless what looks like an instance is the stream: `app/mp4:folder/stream`.
  const isInstance = app !== 'ondemand' && second !== undefined && more.length > 0 && !second.includes(':')
  return `${scheme}://${host}${port}/${isInstance ? `${app}/${second}` : app}`
}
