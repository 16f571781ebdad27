import { err, ok, type Result } from '../../base/result.ts'

/** Parses an entry of `allowedDomains`: a host, optionally with a port. The result is in lower case, after IDNA. */
export function parseDomain(text: string): Result<string, string> {
  const url = /^[^\s/?#@\\%*]+$/.test(text) ? URL.parse(`http://${text}/`) : null
  if (!url || url.hostname === '') return err('must be a host such as www.example.com or localhost:3000')
  // The parser drops the default port of http. A page on https has another default port, so we keep the port as
  // written.
  const port = /:(\d+)$/.exec(text)?.[1]
  return ok(port === undefined || !text.endsWith(`:${port}`) ? url.hostname : `${url.hostname}:${Number(port)}`)
}

/** The host of the page that a request comes from, as `parseDomain` writes it; null without one. */
export function refererHost(header: string | undefined): string | null {
  const url = header === undefined ? null : URL.parse(header)
  return url === null || url.host === '' ? null : url.host
}
