import { isoTime } from '../../base/time.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { longTurn } from '../../base/turns.ts'
import { type ActorIdentity, formatActor } from '../../core/actor.ts'
import { csvRow } from '../../core/audit/csv.ts'
import { type AuditFilter, readAuditQuery } from '../../core/audit/query.ts'
import { invalid, type Failure } from '../../core/errors.ts'
import type { KeyPart } from '../../core/pages/cursor.ts'
import type { AuditQuery, StoredAuditRow } from '../../store/store.ts'
import type { CommandContext } from '../context.ts'
import { type KeysetPage, mapPage, paginate } from '../pages.ts'

/** Who reads the audit log. What was changed may hold what only admins see, such as the addresses of webhooks. */
export interface AuditReader {
  readonly accountId: string
  readonly seesChanges: boolean
}

export type AuditEntry = ReturnType<typeof toEntry>

/** One page of the audit log, newest first. */
export async function listAudit(
  ctx: CommandContext,
  reader: AuditReader,
  query: Record<string, unknown>,
): Promise<Result<KeysetPage<AuditEntry>, Failure>> {
  const read = readAuditQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { accountId } = reader
  const { cursor, limit, ...filter } = read.value
  const page = await paginate(ctx.sign, {
    scope: { list: 'audit', filters: { accountId, ...filter } },
    limit,
    cursor,
    keyOf: (row: StoredAuditRow) => [row.atMs, row.id],
    read: (position, most) => ctx.store.read.audit.page({ accountId, ...filter, limit: most, ...auditAfter(position) }),
  })
  const names = await namesOf(ctx, accountId)
  return mapPage(page, (row) => toEntry(row, names, reader))
}

const auditAfter = ([atMs, id]: readonly KeyPart[]): Pick<AuditQuery, 'after'> =>
  typeof atMs === 'number' && typeof id === 'number' ? { after: { atMs, id } } : {}

/** The names of those who change things now; who was deleted has none. By the stored form of the actor. */
async function namesOf({ store }: CommandContext, accountId: string): Promise<ReadonlyMap<string, string>> {
  const { users, secrets, credentials } = store.read
  const named = (kind: 'user' | 'secret' | 'credential', of: readonly { id: number; name: string }[]) =>
    of.map(({ id, name }) => [formatActor({ kind, id }), name] as const)
  return new Map([
    ...named(
      'user',
      (await users.list(accountId)).map(({ id, email }) => ({ id, name: email })),
    ),
    ...named('secret', await secrets.list(accountId)),
    ...named('credential', await credentials.list(accountId)),
  ])
}

function toEntry(row: StoredAuditRow, names: ReadonlyMap<string, string>, { seesChanges }: AuditReader) {
  const name = names.get(formatActor(row.actor))
  return {
    id: row.id,
    at: isoTime(row.atMs),
    actor: { ...shownActor(row.actor), ...(name === undefined ? {} : { name }) },
    ...(row.address === null ? {} : { address: row.address }),
    ...(row.requestId === null ? {} : { requestId: row.requestId }),
    action: row.action,
    subject: row.subject,
    ...(seesChanges && row.before !== null ? { before: JSON.parse(row.before) as unknown } : {}),
    ...(seesChanges && row.after !== null ? { after: JSON.parse(row.after) as unknown } : {}),
  }
}

const shownActor = (actor: ActorIdentity): { kind: string; id?: number } =>
  'id' in actor ? { kind: actor.kind, id: actor.id } : { kind: actor.kind }

/** The most rows of an export, and about the most characters. */
const EXPORT_ROWS_MAX = 10_000
const EXPORT_LENGTH_MAX = 10_000_000
const EXPORT_BATCH = 500

const HEAD = ['id', 'at', 'actor', 'name', 'address', 'requestId', 'action', 'subject', 'before', 'after']

export interface AuditExport {
  readonly csv: string
  /** Older rows match that did not fit. */
  readonly isCut: boolean
}

/** The newest rows of the audit log that match, as comma-separated values. */
export async function exportAudit(
  ctx: CommandContext,
  reader: AuditReader,
  query: Record<string, unknown>,
): Promise<Result<AuditExport, Failure>> {
  const read = readAuditQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { cursor: _cursor, limit: _limit, ...filter } = read.value
  const names = await namesOf(ctx, reader.accountId)
  let [csv, count] = [csvRow(HEAD), 0]
  for await (const row of auditRows(ctx, reader.accountId, filter)) {
    if (count >= EXPORT_ROWS_MAX || csv.length >= EXPORT_LENGTH_MAX) return ok({ csv, isCut: true })
    csv += toCsv(row, names, reader)
    count += 1
  }
  return ok({ csv, isCut: false })
}

async function* auditRows(
  { store }: CommandContext,
  accountId: string,
  filter: AuditFilter,
): AsyncGenerator<StoredAuditRow> {
  let after: AuditQuery['after']
  do {
    await longTurn()
    const rows: StoredAuditRow[] = await store.read.audit.page({
      accountId,
      ...filter,
      limit: EXPORT_BATCH,
      ...(after ? { after } : {}),
    })
    yield* rows
    after = rows.length < EXPORT_BATCH ? undefined : rows.at(-1)
  } while (after)
}

function toCsv(row: StoredAuditRow, names: ReadonlyMap<string, string>, { seesChanges }: AuditReader): string {
  const actor = formatActor(row.actor)
  const { address, requestId, action, subject } = row
  const [before, after] = seesChanges ? [row.before, row.after] : [null, null]
  const at = isoTime(row.atMs)
  const cells = [String(row.id), at, actor, names.get(actor), address, requestId, action, subject, before, after]
  return csvRow(cells.map((text) => text ?? ''))
}
