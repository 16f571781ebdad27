import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * Audit rows of ingests and runs contained the source of a pull, whose path may contain a stream key. These indexes contain
 * only the rows that still have one. The servers remove the sources in small batches (`tables/leftSources.ts`), also from
 * rows that servers of the earlier version still write.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  const has = (column: string): string => `${engine === 'postgres' ? 'strpos' : 'instr'}(${column}, ',"url":') > 0`
  const written = `action in ('ingest.updated', 'ingest.deleted')`
  await make.index('audit_sources', 'audit', ['id'], `${written} and (${has('"before"')} or ${has('"after"')})`)
  await make.index('runs_sources', 'runs', ['id'], has('"config"'))
  await make.insertMeta('deliveries_without_sources')
}
