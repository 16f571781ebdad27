import type { ComponentChildren } from 'preact'
import { IconButton } from '../../parts/button.tsx'
import { chooseColumn } from '../../parts/choose.tsx'
import { copyText } from '../../parts/clipboard.ts'
import { Menu, type MenuItem } from '../../parts/menu.tsx'
import type { Column } from '../../parts/table.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { Time } from '../../parts/values.tsx'
import { go, linkTo } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { addressesOf } from './addresses.ts'
import type { TokenRecord } from './operations.ts'
import { useServer } from './server.ts'
import { Expiry, TokenStateMark } from './state.tsx'
import { firstName } from './streamEntry.ts'
import { switchTokens } from './switching.ts'
import { formOf, type TokenKind } from './tokenForm.ts'
import { placesOf, shownEntry } from './wording.ts'

const text = words.tokens

interface ColumnParts {
  readonly kind: TokenKind
  readonly live: ReadonlySet<number>
  readonly rows: readonly TokenRecord[]
  readonly chosen: ReadonlySet<number>
  readonly setChosen: (chosen: ReadonlySet<number>) => void
  readonly setDeleting: (tokens: readonly TokenRecord[]) => void
  readonly onChanged: () => Promise<void>
}

/** The columns of a list of tokens. */
export function columnsOf(parts: ColumnParts): readonly Column<TokenRecord>[] {
  const { kind, live, rows, chosen, setChosen } = parts
  const columns: Column<TokenRecord>[] = [
    {
      id: 'Name',
      title: text.columns.label,
      isSortable: true,
      cell: (token) => (
        <>
          <a class="row clamp" title={token.label} href={linkTo(`/tokens/${kind}/${token.id}`)}>
            {token.label}
          </a>
          <span class="sub only-narrow">
            <code class="clamp">{token.streams.map(shownEntry).join(', ')}</code>
          </span>
        </>
      ),
    },
    { id: 'streams', title: text.columns.streams, priority: 2, cell: ({ streams }) => <Streams streams={streams} /> },
    {
      id: 'state',
      title: text.columns.state,
      cell: (token) => <TokenStateMark token={token} isLive={live.has(token.id)} />,
    },
    { id: 'from', title: text.columns.from, priority: 3, cell: (token) => <Places token={token} /> },
    {
      id: 'expires',
      title: text.columns.expires,
      priority: 2,
      cell: (token) => (
        <Nowrap>
          <Expiry token={token} />
        </Nowrap>
      ),
    },
    {
      id: 'LastUsedOn',
      title: text.columns.lastUsed,
      priority: 3,
      isSortable: true,
      cell: ({ lastUsedOn }) => (
        <Nowrap>{lastUsedOn ? <Time at={lastUsedOn} /> : <span class="faint">{text.notUsed}</span>}</Nowrap>
      ),
    },
    {
      id: 'actions',
      title: words.parts.actions,
      kind: 'actions',
      cell: (token) => <RowActions {...parts} token={token} />,
    },
  ]
  if (!canChange()) return columns
  const nameOf = ({ label }: TokenRecord): string => label
  return [chooseColumn({ rows, keyOf: ({ id }) => id, nameOf, chosen, onChosen: setChosen }), ...columns]
}

const Nowrap = ({ children }: { readonly children: ComponentChildren }) => <span class="nowrap">{children}</span>

function Streams({ streams }: { readonly streams: TokenRecord['streams'] }) {
  return (
    <div class="clip">
      {streams.slice(0, 3).map((entry, index) => (
        <span key={entry.streamName}>
          {index > 0 && ', '}
          <code>{entry.streamName}</code>
          {entry.isRegex && (
            <>
              {' '}
              <span class="tag">{text.pattern}</span>
            </>
          )}
        </span>
      ))}
      {streams.length > 3 && ` ${text.andMore(streams.length - 3)}`}
    </div>
  )
}

function Places({ token }: { readonly token: TokenRecord }) {
  const { allowedOrigins, allowedIpAddresses, bindIpsOnUsage = 0, allowedCountries, deniedCountries } = token
  const tags = [
    ...allowedOrigins,
    ...allowedIpAddresses,
    ...(bindIpsOnUsage > 0 ? [text.bindsFirst(bindIpsOnUsage)] : []),
    ...(allowedCountries.length > 0
      ? [text.countriesTag(allowedCountries.slice(0, 4).join(', '), allowedCountries.length > 4)]
      : []),
    ...(deniedCountries.length > 0
      ? [text.notCountriesTag(deniedCountries.slice(0, 4).join(', '), deniedCountries.length > 4)]
      : []),
  ]
  if (tags.length === 0) return <span class="faint">{text.anywhere}</span>
  return (
    <div class="tags" title={placesOf(formOf(token))}>
      {tags.slice(0, 2).map((tag) => (
        <span class="tag" key={tag}>
          {tag}
        </span>
      ))}
      {tags.length > 2 && <span class="tag">{text.andMore(tags.length - 2)}</span>}
    </div>
  )
}

function RowActions({ kind, token, setDeleting, onChanged }: ColumnParts & { readonly token: TokenRecord }) {
  const server = useServer()
  const name = firstName(token.streams)
  const copy = (): Promise<void> => {
    const { whip, whep } = addressesOf({ ...server, streamName: name ?? '' })
    return orToast(copyText(kind === 'publish' ? whip : whep).then(() => toast(text.addressCopied(token.label))))
  }
  const open: MenuItem = { icon: 'next', text: text.open, onSelect: () => go(`/tokens/${kind}/${token.id}`) }
  const changes: readonly MenuItem[] = [
    {
      icon: token.isActive ? 'pause' : 'play',
      text: token.isActive ? text.switchOff : text.switchOn,
      onSelect: () => void switchTokens(kind, [token], !token.isActive, onChanged),
    },
    { icon: 'trash', text: text.delete, isDanger: true, onSelect: () => setDeleting([token]) },
  ]
  return (
    <>
      {name !== undefined && (
        <span class="p2">
          <IconButton icon="copy" label={text.copyAddress(token.label)} onClick={copy} />
        </span>
      )}
      <Menu label={words.parts.moreFor(token.label)} items={canChange() ? [open, ...changes] : [open]} />
    </>
  )
}
