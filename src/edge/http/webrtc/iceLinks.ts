/**
 * The `Link` headers that name the configured STUN and TURN servers (RFC 9725 section 4.6). An entry is `URL` or `URL
 * username credential`; the configuration has validated it.
 */
export function iceLinks(servers: readonly string[]): string[] {
  return servers.map((server) => {
    const [url = '', username, credential] = server.split(' ')
    const link = `<${url}>; rel="ice-server"`
    if (username === undefined || credential === undefined) return link
    return `${link}; username="${username}"; credential="${credential}"; credential-type="password"`
  })
}
