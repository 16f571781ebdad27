import type { AbrLadder } from '../../core/channels/types.ts'
import { dbFlag } from '../columns.ts'
import { statement } from '../executor.ts'
import { fieldsOf } from '../records.ts'
import { ResourceTable, ResourceVerbs } from './resource.ts'

const ladders = new ResourceTable<'abr_ladders', AbrLadder>('abr_ladders', {
  toRow: (ladder) => ({ ...ladder, video: JSON.stringify(ladder.video), audioOnly: dbFlag(ladder.audioOnly) }),
  fromRow: (row) => ({
    ...row,
    video: JSON.parse(row.video) as AbrLadder['video'],
    audioOnly: row.audioOnly === 1,
  }),
})

const ofAccount = statement((db, p: { accountId: string }) =>
  db
    .selectFrom('abr_ladders')
    .select(fieldsOf('abr_ladders'))
    .where('account_id', '=', p.accountId)
    .orderBy('created_at_ms')
    .orderBy('id'),
)

export class AbrLadderVerbs extends ResourceVerbs<'abr_ladders', AbrLadder> {
  protected override readonly table = ladders

  async list(accountId: string): Promise<AbrLadder[]> {
    return ladders.read(await this.executor.all(ofAccount, { accountId }))
  }
}
