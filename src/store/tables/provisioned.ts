import { statement, Verbs } from '../executor.ts'
import { fieldsOf, rowOf } from '../records.ts'
import { namesOf } from '../schema.ts'
import type { Provisioned } from '../store.ts'

interface Name {
  accountId: string
  kind: string
  name: string
}

const list = statement((db, p: { accountId: string }) =>
  db
    .selectFrom('provisioned')
    .select(fieldsOf('provisioned', ['kind', 'name', 'resource_id']))
    .where('account_id', '=', p.accountId)
    .orderBy('kind')
    .orderBy('name'),
)

const put = statement((db, p: Provisioned & { accountId: string }) =>
  db
    .insertInto('provisioned')
    .values(rowOf('provisioned', namesOf('provisioned'), p))
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'kind', 'name']).doUpdateSet({ resource_id: p.resourceId }),
    ),
)

const remove = statement((db, p: Name) =>
  db
    .deleteFrom('provisioned')
    .where('account_id', '=', p.accountId)
    .where('kind', '=', p.kind)
    .where('name', '=', p.name),
)

export class ProvisionedTxVerbs extends Verbs {
  list(accountId: string): Promise<Provisioned[]> {
    return this.executor.all(list, { accountId })
  }

  async put(accountId: string, row: Provisioned): Promise<void> {
    await this.executor.run(put, { ...row, accountId })
  }

  async delete(accountId: string, { kind, name }: Pick<Provisioned, 'kind' | 'name'>): Promise<void> {
    await this.executor.run(remove, { accountId, kind, name })
  }
}
