import type { AbrLadder } from '../../core/channels/types.ts'
import { statement, Verbs } from '../executor.ts'
import { columnsOf } from '../schema.ts'
import { ResourceStatements } from './resource.ts'

const ladders = new ResourceStatements<'abr_ladders', AbrLadder>('abr_ladders', {
  toRow: (ladder) => ({
    id: ladder.id,
    account_id: ladder.accountId,
    name: ladder.name,
    video: JSON.stringify(ladder.video),
    audio_kbps: ladder.audioKbps,
    audio_only: ladder.audioOnly ? 1 : 0,
    created_at_ms: ladder.createdAtMs,
    updated_at_ms: ladder.updatedAtMs,
  }),
  fromRow: (row) => ({
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    video: JSON.parse(row.video) as AbrLadder['video'],
    audioKbps: row.audio_kbps,
    audioOnly: row.audio_only === 1,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  }),
  unchanged: [],
})

const ofAccount = statement((db, p: { accountId: string }) =>
  db
    .selectFrom('abr_ladders')
    .select(columnsOf('abr_ladders'))
    .where('account_id', '=', p.accountId)
    .orderBy('created_at_ms')
    .orderBy('id'),
)

export class AbrLadderReadVerbs extends Verbs {
  get(accountId: string, id: string): Promise<AbrLadder | undefined> {
    return ladders.get(this.executor, accountId, id)
  }

  async list(accountId: string): Promise<AbrLadder[]> {
    return ladders.read(await this.executor.all(ofAccount, { accountId }))
  }
}

export class AbrLadderTxVerbs extends AbrLadderReadVerbs {
  lock(accountId: string, id: string): Promise<AbrLadder | undefined> {
    return ladders.lock(this.executor, accountId, id)
  }

  insert(value: AbrLadder): Promise<void> {
    return ladders.insert(this.executor, [value])
  }

  replace(value: AbrLadder): Promise<void> {
    return ladders.replace(this.executor, value)
  }

  delete(id: string): Promise<void> {
    return ladders.delete(this.executor, id)
  }
}
