import { err, ok, type Result } from '../../base/result.ts'

/** Parses an entry of `allowedDomains`: a host, optionally with a port. The result is in lower case, after IDNA. */
export function parseDomain(text: string): Result<string, string> {
  const url = /^[^\s/?#@\\%*]+$/.test(text) ? URL.parse(`http://${text}/`) : null
  if (!url) return err('must be a host such as www.example.com or localhost:3000')
  // The parser drops the default port of http. A page on https has another default port, so we keep the port as
  // written.
  const port = /:(\d+)$/.exec(text)?.[1]
  return ok(port === undefined ? url.hostname : `${url.hostname}:${Number(port)}`)
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/**
 * What entries may say of the page that a request comes from, as `parseDomain` writes it: its host, and its host with the port, which
 * an address need not name.
 */
export function refererHosts(header: string): string[] {
  const url = URL.parse(header)
  if (url === null) return []
  return [url.host, `${url.hostname}:${url.port || (DEFAULT_PORTS[url.protocol] ?? '')}`]
}
