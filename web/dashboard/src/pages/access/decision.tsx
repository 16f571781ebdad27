import { type Answer, readAccessLogEntry } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { LinkButton } from '../../parts/button.tsx'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card, Pairs } from '../../parts/page.tsx'
import { Time } from '../../parts/values.tsx'
import { linkTo } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { RepairButton } from '../tokens/repair.tsx'
import { readToken } from '../tokens/operations.ts'
import type { TokenKind } from '../tokens/tokenForm.ts'
import { Trace, Verdict } from './trace.tsx'

const text = words.access

export type Decision = Answer<typeof readAccessLogEntry>

/** A publisher presents a publish token, a viewer a subscribe token. */
export const kindOf = ({ action }: Pick<Decision, 'action'>): TokenKind =>
  action === 'publish' ? 'publish' : 'subscribe'

/** The rule that each check reads, as the page of a token names its fields. */
const RULES: Readonly<Record<string, string>> = {
  active: 'active',
  expiry: 'expiry',
  streamName: 'streams',
  origin: 'sites',
  address: 'addresses',
  country: 'countries',
  rtmpIpFilters: 'addresses',
  region: 'region',
  binding: 'bind',
  viewers: 'viewers',
}

/** A recorded decision: its trace as it was then, and the way to the rule of the token that caused it. */
export function DecisionCard({ id }: { readonly id: string }) {
  const entry = useLoad((signal) => call(readAccessLogEntry, { path: { decisionId: id } }, { signal }), [id])
  const { data } = entry
  return (
    <Card
      title={text.whyTitle}
      aside={
        data ? (
          <span class="note">
            <Time at={data.lastAt} isWhole />
          </span>
        ) : undefined
      }
    >
      {entry.error && <LoadError error={entry.error} onRetry={entry.reload} />}
      {!data && !entry.error && <Bones rows={4} />}
      {data && <Shown key={data.id} decision={data} />}
    </Card>
  )
}

function Shown({ decision }: { readonly decision: Decision }) {
  const { allowed, code = 'allowed', message, trace } = decision
  const failed = trace?.find(({ outcome }) => outcome === 'fail')
  return (
    <>
      <Verdict isAllowed={allowed} code={code} detail={failed?.detail ?? message} />
      <Client decision={decision} />
      {trace ? <Trace steps={trace} /> : <p class="note">{text.noTrace}</p>}
      {decision.tokenId !== undefined && (
        <TokenActions decision={decision} id={decision.tokenId} failed={failed?.check} />
      )}
    </>
  )
}

function Client({ decision }: { readonly decision: Decision }) {
  const { action, streamName, protocol, address, country, origin, count, jti } = decision
  return (
    <Pairs
      rows={[
        [
          text.actions[action],
          <>
            <code>{streamName}</code> <span class="tag">{protocol.toUpperCase()}</span>
          </>,
        ],
        [
          text.columns.from,
          <>
            <code>{address}</code> {country && <span class="tag">{country}</span>}
          </>,
        ],
        ...(origin ? [[text.site, origin] as const] : []),
        ...(jti ? [[text.jti, <code>{jti}</code>] as const] : []),
        ...(count > 1 ? [[text.countName, text.times(count)] as const] : []),
      ]}
    />
  )
}

function TokenActions(props: {
  readonly decision: Decision
  readonly id: number
  readonly failed: string | undefined
}) {
  const { decision, id, failed } = props
  const kind = kindOf(decision)
  const token = useLoad((signal) => readToken(kind, id, signal), [kind, id])
  if (token.error?.status === 404) return <p class="note">{text.tokenGone(words.tokens.kinds[kind].one(id))}</p>
  if (!token.data) return null
  return (
    <>
      <p class="note">{text.ofToken(token.data.label, words.tokens.kinds[kind].one(id))}</p>
      <div class="actions">
        {canChange() && (
          <RepairButton isNamed kind={kind} token={token.data} decision={decision} onChanged={token.reloaded} />
        )}
        <LinkButton href={linkTo(`/tokens/${kind}/${id}`, { rule: failed ? RULES[failed] : undefined })}>
          {failed && RULES[failed] ? text.openRule : text.openToken}
        </LinkButton>
      </div>
    </>
  )
}
