/** On every page of ours with scripts: no frame around it, no form, no other base, and no text that becomes code or elements. */
const ISOLATED = [
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
]

/** The content security policy of a page that takes only what `sources` allow, such as `script-src 'self'`. */
export const pagePolicy = (...sources: readonly string[]): string =>
  ["default-src 'none'", ...sources, ...ISOLATED].join('; ')
