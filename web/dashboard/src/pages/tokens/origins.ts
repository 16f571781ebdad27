/**
 * Whether a page of `origin` may use a token with these allowed origins. The server decides; this only saves the user
 * from an attempt that fails. No entry means that every origin is allowed.
 */
export function allowsOrigin(rules: readonly string[], origin: string): boolean {
  return rules.length === 0 || rules.some((rule) => matches(rule, new URL(origin)))
}

const RULE = /^(?:(https?):\/\/)?(\*\.)?(\[[^\]]+\]|[^:]+)(?::(\d+))?$/
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' }

/** A rule without a scheme matches every scheme and, without a port, every port. */
function matches(rule: string, origin: URL): boolean {
  const [, scheme, wildcard, host = '', port] = RULE.exec(rule.toLowerCase()) ?? []
  const given = origin.protocol.slice(0, -1)
  const wantedPort = port ?? (scheme === undefined ? undefined : DEFAULT_PORTS[scheme])
  if (scheme !== undefined && scheme !== given) return false
  if (wantedPort !== undefined && wantedPort !== (origin.port || DEFAULT_PORTS[given])) return false
  return wildcard ? origin.hostname.endsWith(`.${host}`) : origin.hostname === host
}
