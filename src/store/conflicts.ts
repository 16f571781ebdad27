import { Conflict } from './store.ts'

/** What each unique index guards, in the terms of the interface, by the names that SQLite and PostgreSQL report. */
const guarded: readonly { columns: string; constraint: string; what: string }[] = [
  { columns: 'accounts.id', constraint: 'accounts_pkey', what: 'An account with this id' },
  { columns: 'secrets.account_id, secrets.name', constraint: 'secrets_name', what: 'A secret with this name' },
  { columns: 'secrets.hash', constraint: 'secrets_hash', what: 'A secret with this value' },
  { columns: 'credentials.key', constraint: 'credentials_key', what: 'A credential with this key' },
  { columns: 'users.email', constraint: 'users_email', what: 'A user with this e-mail address' },
  { columns: 'passkeys.id', constraint: 'passkeys_pkey', what: 'A passkey with this id' },
  {
    columns: 'feeds.account_id, feeds.stream_name, feeds.source',
    constraint: 'feeds_source',
    what: 'A feed of this source',
  },
  { columns: 'tokens.id', constraint: 'tokens_pkey', what: 'A token with this id' },
  { columns: 'tokens.value_hash', constraint: 'tokens_value_hash', what: 'A token with this value' },
  { columns: 'ingests.key_hash', constraint: 'ingests_key_hash', what: 'An ingest with this stream key' },
  {
    columns: 'channel_external_ids.account_id, channel_external_ids.external_id',
    constraint: 'channel_external_ids_pkey',
    what: 'A channel with this external id',
  },
]

/** `columns` comes from SQLite's message, `constraint` from PostgreSQL's error. */
export function conflict(name: { columns: string } | { constraint: string }, cause: unknown): Conflict {
  const entry = guarded.find((g) => ('columns' in name ? g.columns === name.columns : g.constraint === name.constraint))
  const isId = 'columns' in name ? /\.(public_)?id$/.test(name.columns) : /(_pkey|_public_id)$/.test(name.constraint)
  return new Conflict(entry?.what ?? (isId ? 'Something with this id' : 'This value'), { cause })
}
