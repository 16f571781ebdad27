import type { Embedding } from '../../../commands/access/embedding.ts'
import { mediaSources, pagePolicy } from '../pagePolicy.ts'

type Rules = Exclude<Embedding, string>[number]

/** The policies of the page at `/watch`. A browser enforces all of them, so a site has to be in every list. */
export function watchPolicies(hasNodes: boolean, embedding: Embedding): string[] {
  const sources = ["script-src 'self'", "style-src 'self'", "img-src 'self'", ...mediaSources(hasNodes)]
  if (embedding === 'any') return [pagePolicy(sources, '*')]
  if (embedding === 'none') return [pagePolicy(sources)]
  const [first = "'none'", ...rest] = embedding.map(sourcesOf)
  return [pagePolicy(sources, first), ...rest.map((ancestors) => `frame-ancestors ${ancestors}`)]
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
