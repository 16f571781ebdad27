/** A source in the form that ffmpeg gets. */
export interface Dialled {
  readonly url: string
  /** Options for ffmpeg, by name. */
  readonly options: Readonly<Record<string, string>>
}

interface Parts {
  readonly scheme: string
  /** As written; an IPv6 address is in brackets. */
  readonly host: string
  /** With its colon; empty: none. */
  readonly port: string
  /** With the query. */
  readonly path: string
}

/**
 * The parts of a source that was validated when it was saved. A user, which can only be an empty one (`:@host`), is
 * dropped: before an IP address it would make ffmpeg dial the old host. The colon of an empty port is dropped too.
 */
function partsOf(source: string): Parts {
  const found = /^([a-z]+):\/\/(?:[^/?#]*@)?(\[[^\]]*\]|[^/:?#]*)(?::(\d*))?(.*)$/is.exec(source) ?? []
  const [, scheme = '', host = '', port = '', path = ''] = found
  return { scheme, host, port: port === '' ? '' : `:${port}`, path }
}

/**
 * The same source with an IP address instead of its host name, so that no second DNS lookup happens. An RTMP server
 * still receives the name, because it may choose the content by it.
 * @param at an address, and a port if it differs from that of the source
 */
export function dialledAt(source: string, at: string): Dialled {
  const parts = partsOf(source)
  const [, address = at, port] = /^(.*)#(\d+)$/.exec(at) ?? []
  const host = address.includes(':') ? `[${address}]` : address
  const authority = `${host}${port === undefined ? parts.port : `:${port}`}`
  if (!parts.scheme.toLowerCase().startsWith('rtmp')) {
    return { url: `${parts.scheme}://${authority}${parts.path}`, options: {} }
  }
  return { url: `rtmp://${authority}${parts.path}`, options: { rtmp_tcurl: tcUrlOf(parts) } }
}

/** The application address (tcUrl) that ffmpeg itself derives from an RTMP source: everything but the stream name. */
function tcUrlOf({ scheme, host, port, path }: Parts): string {
  const [app = '', second, ...more] = path.replace(/^\//, '').split('/')
  // `app/instance/stream`, unless the second part already belongs to the stream: `app/mp4:folder/stream`.
  const isInstance = app !== 'ondemand' && second !== undefined && more.length > 0 && !second.includes(':')
  return `${scheme}://${host}${port}/${isInstance ? `${app}/${second}` : app}`
}
