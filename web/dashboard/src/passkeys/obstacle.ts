/** Why this page cannot use passkeys. */
export type Obstacle = 'insecure' | 'address' | 'unsupported'

/** What decides it, as `window` has it. */
interface Surroundings {
  readonly isSecureContext: boolean
  readonly location: { readonly hostname: string }
  readonly PublicKeyCredential?: unknown
}

/** IPv4 as `URL` writes it, and IPv6 in its brackets. */
const ADDRESS = /^(?:\d+\.\d+\.\d+\.\d+|\[.*\])$/

/** Null: passkeys work here. Browsers keep them for host names, and offer them in secure contexts alone. */
export function obstacleIn({ isSecureContext, location, PublicKeyCredential }: Surroundings): Obstacle | null {
  if (!isSecureContext) return 'insecure'
  if (ADDRESS.test(location.hostname)) return 'address'
  return PublicKeyCredential === undefined ? 'unsupported' : null
}
