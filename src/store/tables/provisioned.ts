import { statement, Verbs } from '../executor.ts'
import { fieldsOf } from '../records.ts'
import { upsertion } from '../rowTable.ts'
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

const put = upsertion({ table: 'provisioned', key: ['account_id', 'kind', 'name'] })

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
    await put(this.executor, [{ ...row, accountId }])
  }

  async delete(accountId: string, { kind, name }: Pick<Provisioned, 'kind' | 'name'>): Promise<void> {
    await this.executor.run(remove, { accountId, kind, name })
  }
}
