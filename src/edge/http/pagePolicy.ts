/**
 * The content security policy of a page of ours with scripts, which takes only what `sources` allow, such as `script-src 'self'`:
 * no form, no other base, and no text that becomes code or elements.
 * @param ancestors the pages that may have it in a frame
 */
export const pagePolicy = (sources: readonly string[], ancestors = "'none'"): string =>
  [
    "default-src 'none'",
    ...sources,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    `frame-ancestors ${ancestors}`,
  ].join('; ')

/** Media of this server and, with other nodes, of theirs, because a viewer follows redirects there. */
export function mediaSources(hasNodes: boolean): string[] {
  const nodes = hasNodes ? ' http: https:' : ''
  return [`connect-src 'self'${nodes}`, `media-src 'self' blob:${nodes}`]
}
