import type { Embedding } from '../../../commands/access/embedding.ts'

type Rules = Exclude<Embedding, string>[number]

/**
 * Allows our own scripts and styles, and media from this server; with other nodes also from theirs, because a viewer
 * follows redirects there.
 */
const pagePolicy = (nodes: string, ancestors: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src 'self'${nodes}`,
    `media-src 'self' blob:${nodes}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    `frame-ancestors ${ancestors}`,
  ].join('; ')

/** The policies of the page at `/watch`. A browser enforces all of them, so a site has to be in every list. */
export function watchPolicies(hasNodes: boolean, embedding: Embedding): string[] {
  const nodes = hasNodes ? ' http: https:' : ''
  if (embedding === 'any') return [pagePolicy(nodes, '*')]
  if (embedding === 'none') return [pagePolicy(nodes, "'none'")]
  const [first = "'none'", ...rest] = embedding.map(sourcesOf)
  return [pagePolicy(nodes, first), ...rest.map((sources) => `frame-ancestors ${sources}`)]
}

const sourcesOf = (rules: Rules): string => rules.flatMap(sourceOf).join(' ')

/**
 * A rule without a scheme is for http and https, and without a port for any; in a policy both must be said (CSP 3,
 * section 6.7.2). The origin of an app may have no port.
 */
function sourceOf({ host, subdomains, scheme, port }: Rules[number]): string[] {
  const site = `${subdomains ? '*.' : ''}${host}`
  if (scheme !== null) return [`${scheme}://${site}${port === null ? '' : `:${port}`}`]
  return ['http', 'https'].map((each) => `${each}://${site}:${port ?? '*'}`)
}
