import type { AbrLadder } from '../../core/channels/types.ts'
import { statement, Verbs } from '../executor.ts'
import { columnsOf } from '../tableColumns.ts'
import { ResourceStatements } from './resource.ts'

/** Nodes of the version before read all columns of the table, so a new fact of a ladder is with its first rendition. */
type StoredRendition = AbrLadder['video'][number] & { audioOnly?: true }

const stored = ({ video, audioOnly }: AbrLadder): StoredRendition[] =>
  video.map((rendition, at) => (audioOnly && at === 0 ? { ...rendition, audioOnly } : rendition))

function read(text: string): Pick<AbrLadder, 'video' | 'audioOnly'> {
  const renditions = JSON.parse(text) as StoredRendition[]
  return {
    video: renditions.map(({ audioOnly: _audioOnly, ...rendition }) => rendition),
    audioOnly: renditions[0]?.audioOnly === true,
  }
}

const ladders = new ResourceStatements<'abr_ladders', AbrLadder>('abr_ladders', {
  toRow: (ladder) => ({
    id: ladder.id,
    account_id: ladder.accountId,
    name: ladder.name,
    video: JSON.stringify(stored(ladder)),
    audio_kbps: ladder.audioKbps,
    created_at_ms: ladder.createdAtMs,
    updated_at_ms: ladder.updatedAtMs,
  }),
  fromRow: (row) => ({
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    ...read(row.video),
    audioKbps: row.audio_kbps,
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

/** The reads of abrLadders. */
export class AbrLadderReadVerbs extends Verbs {
  get(accountId: string, id: string): Promise<AbrLadder | undefined> {
    return ladders.get(this.executor, accountId, id)
  }

  async list(accountId: string): Promise<AbrLadder[]> {
    return ladders.read(await this.executor.all(ofAccount, { accountId }))
  }
}

/** The verbs of abrLadders in a transaction. */
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
