import { type Answer, listAccessLog } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { LATE_DECISIONS, useFollow } from '../../follow.ts'
import { decisions } from '../../live.ts'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { Shape } from '../../parts/state.tsx'
import { Time } from '../../parts/values.tsx'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { linkToAccess } from '../access/filters.ts'
import { RepairButton } from './repair.tsx'
import type { TokenRecord } from './operations.ts'
import type { TokenKind } from './tokenForm.ts'

const text = words.tokens.refusals
const SHOWN = 5

type Decision = Answer<typeof listAccessLog>[number]

/** The refusals of a token, each with a way to its reason and, where one entry is enough, to allow it. */
export function RefusalCard(props: {
  readonly kind: TokenKind
  readonly token: TokenRecord
  readonly onChanged: () => Promise<void>
}) {
  const { token } = props
  const log = useLoad(
    (signal) => call(listAccessLog, { query: { tokenId: token.id, allowed: false, limit: SHOWN } }, { signal }),
    [token],
  )
  useFollow(decisions, log.reload, LATE_DECISIONS)
  return (
    <Card
      title={text.title}
      isFlush
      aside={
        <a class="note" href={linkToAccess({ token: token.id })}>
          {text.log}
        </a>
      }
    >
      {log.error && <LoadError error={log.error} onRetry={log.reload} />}
      {!log.data && !log.error && <Bones rows={2} />}
      {log.data?.length === 0 && <p class="pad faint">{text.none}</p>}
      {log.data && log.data.length > 0 && (
        <ul class="rows">
          {log.data.map((one) => (
            <Refusal key={one.id} decision={one} {...props} />
          ))}
        </ul>
      )}
    </Card>
  )
}

function Refusal(props: {
  readonly kind: TokenKind
  readonly token: TokenRecord
  readonly decision: Decision
  readonly onChanged: () => Promise<void>
}) {
  const { kind, token, decision, onChanged } = props
  const { id, code = '', lastAt, origin, address, count, streamName } = decision
  return (
    <li>
      <Shape kind="error" isSmall />
      <div class="grow">
        <a href={linkToAccess({ token: token.id, decision: id })}>
          <b>{words.access.codes[code] ?? code}</b>
        </a>
        <p>
          <Time at={lastAt} /> {text.from([origin, address].filter(Boolean).join(', '))} · <code>{streamName}</code>
          {count > 1 && ` · ${text.times(count)}`}
        </p>
      </div>
      {canChange() && <RepairButton kind={kind} token={token} decision={decision} onChanged={onChanged} />}
    </li>
  )
}
