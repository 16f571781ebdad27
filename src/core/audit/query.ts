import { parseActor } from '../actor.ts'
import { parseInstant } from '../access/logQuery.ts'
import type { FieldErrors } from '../errors.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { readListQuery, type ParameterReader, type QueryPart } from '../pages/listQuery.ts'

export interface AuditFilter {
  /** The stored form, such as `user:3`. */
  actor?: string
  action?: string
  fromMs?: number
  untilMs?: number
}

const READERS: Readonly<Record<string, ParameterReader<AuditFilter>>> = {
  actor: (text) =>
    parseActor(text) === null
      ? err('must be cli, provisioning, retention, or a kind and an id, like user:3 or secret:1')
      : ok({ actor: text }),
  action: (text) =>
    /^[a-z_]+\.[a-z_]+$/.test(text) && text.length <= 64
      ? ok({ action: text })
      : err('must be the name of an action, like publish_token.create'),
  from: (text) => parseInstant(text, (fromMs) => ({ fromMs })),
  until: (text) => parseInstant(text, (untilMs) => ({ untilMs })),
}

/** Parses the query of the audit log and reports all errors at once. `from` is inclusive, `until` exclusive. */
export const readAuditQuery = (query: Record<string, unknown>): Result<AuditFilter & QueryPart, FieldErrors> =>
  readListQuery(query, READERS)
