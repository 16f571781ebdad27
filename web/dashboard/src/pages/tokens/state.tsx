import { State, type StateKind } from '../../parts/state.tsx'
import { Time } from '../../parts/values.tsx'
import { words } from '../../words/words.ts'
import type { TokenRecord } from './operations.ts'

const text = words.tokens.states
const DAY_MS = 86_400_000
/** A token that expires within this time deserves a warning; the filter `expiring` of the API has the same bound. */
const SOON_MS = 7 * DAY_MS

const relative = new Intl.RelativeTimeFormat(words.locale, { numeric: 'always' })

/** How long until a time, in the largest unit that has a whole number. */
export function until(atMs: number, nowMs: number): string {
  const minutes = Math.max(1, Math.round((atMs - nowMs) / 60_000))
  if (minutes < 60) return relative.format(minutes, 'minute')
  const hours = Math.round(minutes / 60)
  return hours < 48 ? relative.format(hours, 'hour') : relative.format(Math.round(hours / 24), 'day')
}

const isExpired = ({ expiresOn }: TokenRecord): boolean =>
  expiresOn !== undefined && Date.parse(expiresOn) <= Date.now()

export const expiresSoon = (token: TokenRecord): boolean =>
  token.expiresOn !== undefined && !isExpired(token) && Date.parse(token.expiresOn) - Date.now() < SOON_MS

function stateOf(token: TokenRecord, isLive: boolean): readonly [StateKind, string] {
  if (!token.isActive) return ['off', text.off]
  if (isExpired(token)) return ['off', text.expired]
  return isLive ? ['live', text.live] : ['idle', text.ready]
}

/** Live, ready, off or expired, as a shape and a word. */
export function TokenStateMark({
  token,
  isLive,
  look,
}: {
  readonly token: TokenRecord
  readonly isLive: boolean
  readonly look?: 'pill'
}) {
  const [kind, shown] = stateOf(token, isLive)
  return (
    <State kind={kind} look={look ?? 'plain'}>
      {shown}
    </State>
  )
}

/** When a token expires; with a warning when it is soon. */
export function Expiry({ token }: { readonly token: TokenRecord }) {
  const { expiresOn } = token
  if (expiresOn === undefined) return <>{words.parts.never}</>
  if (expiresSoon(token)) return <State kind="warn">{until(Date.parse(expiresOn), Date.now())}</State>
  return (
    <span class={isExpired(token) ? 'faint' : ''}>
      <Time at={expiresOn} />
    </span>
  )
}
