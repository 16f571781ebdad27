import { useState } from 'preact/hooks'
import { listSessions } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { sessionNews, tokenEdits } from '../../live.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Bones, Empty, LoadError } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { State } from '../../parts/state.tsx'
import { toast } from '../../parts/toast.tsx'
import { goLater, linkTo, type PageArgs } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { AddressCards } from './addressCards.tsx'
import { CommandCard } from './commandCard.tsx'
import { DeleteTokens } from './deleteTokens.tsx'
import { readToken, type TokenRecord, updateToken } from './operations.ts'
import { PullsCard } from './pullsCard.tsx'
import { RefusalCard } from './refusalCard.tsx'
import { RulesCard } from './rulesCard.tsx'
import { type Session, SessionCard } from './sessionCard.tsx'
import { SignCard } from './signCard.tsx'
import { expiresSoon, TokenStateMark, until } from './state.tsx'
import { switchTokens } from './switching.ts'
import { TargetsCard } from './targetsCard.tsx'
import type { TokenKind } from './tokenForm.ts'
import './tokens.css'

const text = words.tokens
const SESSIONS_SHOWN = 20

export const PublishTokenPage = (args: PageArgs) => <TokenPage kind="publish" {...argsOf(args)} />
export const SubscribeTokenPage = (args: PageArgs) => <TokenPage kind="subscribe" {...argsOf(args)} />

const argsOf = ({ values, query }: PageArgs) => ({ id: Number(values['id']), rule: query.get('rule') })

interface TokenPageProps {
  readonly kind: TokenKind
  readonly id: number
  /** The rule that a link leads to. */
  readonly rule: string | null
}

function TokenPage({ kind, id, rule }: TokenPageProps) {
  const token = useLoad((signal) => readToken(kind, id, signal), [kind, id])
  const sessions = useLoad(
    (signal) => call(listSessions, { query: { tokenId: id, limit: SESSIONS_SHOWN } }, { signal }),
    [kind, id],
  )
  useFollow(sessionNews, sessions.reload)
  useFollow(tokenEdits, token.reload)
  const crumb = { text: text.kinds[kind].list, href: linkTo(`/tokens/${kind}`) }
  if (token.error?.status === 404 || token.error?.status === 400) return <NoToken kind={kind} />
  if (token.data === undefined) {
    return (
      <Page title={text.kinds[kind].one(id)} crumb={crumb}>
        {token.error ? <LoadError error={token.error} onRetry={token.reload} /> : <Bones rows={8} />}
      </Page>
    )
  }
  const parts = { kind, token: token.data, onChanged: token.reloaded }
  return (
    <Page
      title={token.data.label}
      crumb={crumb}
      sub={<Tags kind={kind} token={token.data} sessions={sessions.data ?? []} />}
      actions={canChange() ? <Actions {...parts} onSessions={sessions.reload} /> : undefined}
    >
      <div class="cols form-side">
        <div class="stack">
          <AddressCards kind={kind} token={token.data} />
          <RulesCard key={token.data.id} {...parts} rule={rule} onSaved={token.set} />
          {kind === 'publish' && <TargetsCard token={token.data} onSaved={token.set} />}
          {kind === 'publish' && <PullsCard token={token.data} />}
          {kind === 'subscribe' && canChange() && <SignCard token={token.data} />}
        </div>
        <div class="stack">
          <SessionCard kind={kind} sessions={sessions} most={SESSIONS_SHOWN} />
          <RefusalCard {...parts} />
          <CommandCard kind={kind} token={token.data} />
        </div>
      </div>
    </Page>
  )
}

function Tags({
  kind,
  token,
  sessions,
}: {
  readonly kind: TokenKind
  readonly token: TokenRecord
  readonly sessions: readonly Session[]
}) {
  const names = [...new Set(sessions.map(({ streamName }) => streamName))]
  const isLive = sessions.length > 0
  return (
    <span class="tags">
      {isLive && token.isActive ? (
        <State kind="live" look="pill">
          <span class="clamp">
            {kind === 'publish'
              ? text.page.liveAs(names.join(', '))
              : text.page.viewersNow(sessions.length, sessions.length >= SESSIONS_SHOWN)}
          </span>
        </State>
      ) : (
        <TokenStateMark token={token} isLive={isLive} look="pill" />
      )}
      {token.expiresOn !== undefined && expiresSoon(token) && (
        <State kind="warn" look="pill">
          {text.page.expiresIn(until(Date.parse(token.expiresOn), Date.now()))}
        </State>
      )}
      <span class="tag">{text.kinds[kind].one(token.id)}</span>
    </span>
  )
}

interface ActionProps {
  readonly kind: TokenKind
  readonly token: TokenRecord
  readonly onChanged: () => Promise<void>
  readonly onSessions: () => void
}

function Actions({ kind, token, onChanged, onSessions }: ActionProps) {
  const [asking, setAsking] = useState<'none' | 'value' | 'delete'>('none')
  const then = goLater()
  const close = (): void => setAsking('none')
  const changed = (): Promise<void> => {
    onSessions()
    return onChanged()
  }
  const renew = async (): Promise<void> => {
    await updateToken(kind, token.id, { refreshToken: true })
    toast(text.page.newValueDone)
    await changed()
  }
  return (
    <>
      <Button icon="refresh" onClick={() => setAsking('value')}>
        {text.page.newValue}
      </Button>
      <Button onClick={() => switchTokens(kind, [token], !token.isActive, changed)}>
        {token.isActive ? text.switchOff : text.switchOn}
      </Button>
      <Menu
        label={words.parts.moreFor(token.label)}
        items={[{ icon: 'trash', text: text.delete, isDanger: true, onSelect: () => setAsking('delete') }]}
      />
      {asking === 'value' && (
        <Confirm
          title={text.page.newValueTitle(token.label)}
          verb={text.page.newValue}
          onConfirm={renew}
          onClose={close}
        >
          {text.page.newValueText}
        </Confirm>
      )}
      {asking === 'delete' && (
        <DeleteTokens kind={kind} tokens={[token]} onDone={() => then(`/tokens/${kind}`, {}, true)} onClose={close} />
      )}
    </>
  )
}

function NoToken({ kind }: { readonly kind: TokenKind }) {
  return (
    <Page title={text.page.noToken}>
      <section class="card">
        <Empty action={<LinkButton href={linkTo(`/tokens/${kind}`)}>{text.page.backToList}</LinkButton>}>
          {text.page.noTokenText}
        </Empty>
      </section>
    </Page>
  )
}
