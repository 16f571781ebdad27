import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** Nodes say how busy their media is, what they send, and why they take no viewers. */
export const up = (db: Kysely<unknown>, engine: DialectName): Promise<void> =>
  new Maker(db, engine).addColumns(
    'node_facts',
    'media_percent big null, egress_bitrate big null, full_reasons text null',
  )
