import { useState } from 'preact/hooks'
import { type Answer, endSession, type listSessions } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import type { Loaded } from '../../api/load.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card, Pairs } from '../../parts/page.tsx'
import { toast } from '../../parts/toast.tsx'
import { bytes, Since } from '../../parts/values.tsx'
import { linkTo } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import type { TokenKind } from './tokenForm.ts'

const text = words.tokens.sessions

export type Session = Answer<typeof listSessions>[number]

/** The sessions that use a token now, each with a way to end it. */
export function SessionCard(props: {
  readonly kind: TokenKind
  readonly sessions: Loaded<readonly Session[]>
  /** As many as the list has at most. */
  readonly most: number
}) {
  const { kind, sessions, most } = props
  const [ending, setEnding] = useState<Session | null>(null)
  const rows = sessions.data ?? []
  const end = async ({ id }: Session): Promise<void> => {
    await call(endSession, { path: { sessionId: id } })
    toast(text.ended)
    sessions.reload()
  }
  return (
    <Card
      title={text.title}
      aside={
        rows.length > 0 ? (
          <span class="note">{rows.length < most ? text.count(rows.length) : text.atLeast(most)}</span>
        ) : undefined
      }
    >
      {sessions.error && !sessions.data && <LoadError error={sessions.error} onRetry={sessions.reload} />}
      {!sessions.data && !sessions.error && <Bones rows={2} />}
      {sessions.data?.length === 0 && <p class="faint">{text.none}</p>}
      {rows.map((one) => (
        <OneSession key={one.id} kind={kind} session={one} onEnd={() => setEnding(one)} />
      ))}
      {ending && (
        <Confirm
          title={text.endTitle(ending.streamName)}
          verb={text.endVerb}
          onConfirm={() => end(ending)}
          onClose={() => setEnding(null)}
        >
          {kind === 'publish' ? text.endPublishText : text.endViewText}
        </Confirm>
      )}
    </Card>
  )
}

function OneSession({
  kind,
  session,
  onEnd,
}: {
  readonly kind: TokenKind
  readonly session: Session
  readonly onEnd: () => void
}) {
  const { streamName, address, protocol, country, origin, startedOn, bytesIn, bytesOut, jti, layer } = session
  return (
    <div class="stack gap-s token-session">
      <Pairs
        rows={[
          [text.stream, <a href={linkTo(`/streams/${encodeURIComponent(streamName)}`)}>{streamName}</a>],
          [
            text.from,
            <>
              {address}{' '}
              <span class="faint">
                · {protocol.toUpperCase()}
                {country ? ` · ${country}` : ''}
              </span>
            </>,
          ],
          ...(layer ? [[text.layer, <code>{layer}</code>] as const] : []),
          ...(origin ? [[text.site, origin] as const] : []),
          ...(jti ? [[text.jti, <code>{jti}</code>] as const] : []),
          [text.since, <Since since={startedOn} />],
          kind === 'publish'
            ? [text.received, <span class="num">{bytes(bytesIn)}</span>]
            : [text.sent, <span class="num">{bytes(bytesOut)}</span>],
        ]}
      />
      {canChange() && (
        <Button look="danger" icon="stop" isWide of={kind === 'publish' ? streamName : address} onClick={onEnd}>
          {kind === 'publish' ? text.endPublish : text.endView}
        </Button>
      )}
    </div>
  )
}
