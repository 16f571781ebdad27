/**
 * Who makes a change: the holder of an API secret, the holder of a Basic credential, a user of the dashboard, the
 * operator of the command line, the files of `provision/`, or Sluice itself at the end of a retention. A closed union, so that the
 * compiler finds each place that has to handle a new kind.
 */
export type ActorIdentity =
  | { readonly kind: 'secret' | 'credential' | 'user'; readonly id: number }
  | { readonly kind: 'cli' | 'provisioning' | 'retention' }

/** The stored form, in audit rows and at runs: `secret:<id>`, `credential:<id>`, `user:<id>`, or the kind alone. */
export const formatActor = (actor: ActorIdentity): string => ('id' in actor ? `${actor.kind}:${actor.id}` : actor.kind)

/** Reads the stored form; null: the text is none. */
export function parseActor(text: string): ActorIdentity | null {
  if (text === 'cli' || text === 'provisioning' || text === 'retention') return { kind: text }
  const [, kind, digits] = /^(secret|credential|user):(0|[1-9]\d{0,15})$/.exec(text) ?? []
  const id = Number(digits)
  return isKind(kind) && Number.isSafeInteger(id) ? { kind, id } : null
}

const isKind = (text: string | undefined): text is 'secret' | 'credential' | 'user' =>
  text === 'secret' || text === 'credential' || text === 'user'
